// Says where the system copies slowly between a program's memory and a socket.
//
// The system copies with one instruction (rep movsb). Processors of AMD make 2.2 GB/s with it instead of 20 where the target stands 1 to 15 octets
// behind the source, by their offsets within a page. When nothing else is in the socket, a large frame begins at the start of a page
// there, and its body 9 octets later. So memory that glibc maps by itself, which begins at offset 16, is slow to receive into, and a body that
// begins with a page is slow to send. A body that does not go there directly is copied once more, by code that is quick everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/frame.hpp"

namespace zlink::kernel_copy {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t slow_distance = 15;  // octets, at most

/// The offset within a page of a large frame that stands so that its body is there.
inline std::size_t offset_of_frame(const void *body) noexcept {
    return (reinterpret_cast<std::uintptr_t>(body) - long_header_size) % page;
}
/// Whether receiving a large body there is slow.
inline bool is_slow_to_receive(const void *body) noexcept {
    const std::size_t target = offset_of_frame(body);
    return target - 1 < slow_distance;
}
/// Whether sending a large body from there is slow.
inline bool is_slow_to_send(const void *body) noexcept {
    const std::size_t source = offset_of_frame(body);
    return page - source - 1 < slow_distance;
}

/// How far `place` stands behind one that receives quickly what `slow` receives slowly: less than a page.
inline std::size_t octets_behind_a_quick_place(const void *place, const void *slow) noexcept {
    constexpr std::size_t away = 64;
    const std::size_t difference =
        reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(slow);
    return (difference - away) % page;
}

}  // namespace zlink::kernel_copy
