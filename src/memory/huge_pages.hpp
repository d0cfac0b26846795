// Memory of the system's in huge pages, where it has them.
//
// Threads:  any.
#pragma once

#include <cstddef>

namespace zlink::huge_pages {

inline constexpr std::size_t size = 2u << 20;
inline constexpr std::size_t small_page = 4096;

constexpr std::size_t whole_pages(std::size_t octets) noexcept {
    return (octets + small_page - 1) / small_page * small_page;
}

/// So many octets, in whole pages, at a multiple of a huge page; null when memory is short. To be
/// given back by munmap(2).
void *map(std::size_t octets) noexcept;

}  // namespace zlink::huge_pages
