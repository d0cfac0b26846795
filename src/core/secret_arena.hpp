// Secrets of connections, in memory that is not written to disk: not in a core that the process
// dumps, nor, as far as the system allows, in a swap file. One for all connections, for a page each
// would be too much.
//
// Wiped:    when they are given back.
// Threads:  any.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zlink {

namespace secret_arena {

constexpr std::size_t unit = 32;
constexpr std::size_t most_units = 2;

/// A place of zeros. Throws bad_alloc.
std::uint8_t *take(std::size_t units);
void give_back(std::uint8_t *place, std::size_t units) noexcept;

}  // namespace secret_arena

/// So many octets there, which begin as zero.
template <std::size_t octets>
class arena_octets {
    static constexpr std::size_t units = octets / secret_arena::unit;
    static_assert(octets % secret_arena::unit == 0 && units > 0 && units <= secret_arena::most_units);

public:
    static constexpr std::size_t size = octets;

    /// Throws bad_alloc.
    arena_octets() : octets_(secret_arena::take(units)) {}
    ~arena_octets() { secret_arena::give_back(octets_, units); }
    arena_octets(const arena_octets &) = delete;
    arena_octets &operator=(const arena_octets &) = delete;

    std::uint8_t *data() noexcept { return octets_; }
    const std::uint8_t *data() const noexcept { return octets_; }

private:
    std::uint8_t *const octets_;
};

using arena_key = arena_octets<32>;

}  // namespace zlink
