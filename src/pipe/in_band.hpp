// Command frames that travel on a pipe between its two owners. They never reach the application or,
// as such, the wire.
//
// Layout:   kind:1 | body. Every owner ignores the kinds it has no use for.
// Gaps:     of what goes to a subscriber alone: the frame that the wire has for it, so that a
//           connection sends it on as it stands. It is told from the others by its size.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/bytes.hpp"

namespace zlink::in_band {

constexpr std::uint8_t cancel = 0;     // topic: the peer takes a subscription back
constexpr std::uint8_t subscribe = 1;  // topic: the peer subscribes
constexpr std::uint8_t hello =
    2;  // routing id (may be empty): a peer is there; the first frame of each connection
constexpr std::uint8_t gone = 3;  // empty: the connection broke, the pipe waits for the next one

constexpr std::array<std::uint8_t, 4> gap_name = {3, 'G', 'A', 'P'};
constexpr std::size_t gap_size = gap_name.size() + sizeof(std::uint64_t);

/// So many messages were lost in front of what follows; 0 is an unknown number.
inline std::array<std::uint8_t, gap_size> gap(std::uint64_t lost) noexcept {
    std::array<std::uint8_t, gap_size> body{};
    std::copy(gap_name.begin(), gap_name.end(), body.begin());
    put_u64(body.data() + gap_name.size(), lost);
    return body;
}
inline bool is_gap(byte_span body) noexcept {
    return body.size() == gap_size && std::equal(gap_name.begin(), gap_name.end(), body.begin());
}
inline std::uint64_t lost_in(byte_span gap) noexcept { return get_u64(gap.data() + gap_name.size()); }

}  // namespace zlink::in_band
