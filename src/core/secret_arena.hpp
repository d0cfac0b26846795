// Keys of connections, in memory that is not written to disk: not in a core that the process dumps,
// nor, as far as the system allows, in a swap file. One for all connections, for a page each would
// be too much.
//
// Wiped:    when they are given back.
// Threads:  any.
#pragma once

#include <array>
#include <cstdint>

namespace zlink {

/// 32 octets there, which begin as zero.
class arena_key {
public:
    static constexpr std::size_t size = 32;

    /// Throws bad_alloc.
    arena_key();
    ~arena_key();
    arena_key(const arena_key &) = delete;
    arena_key &operator=(const arena_key &) = delete;

    std::uint8_t *data() noexcept { return octets_; }
    const std::uint8_t *data() const noexcept { return octets_; }

private:
    std::uint8_t *octets_;
};

}  // namespace zlink
