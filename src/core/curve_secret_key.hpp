// A secret of 32 octets that does not last: a secret key of a connection, or what two sides agreed
// on. It stands in memory that is not dumped, and is wiped when it goes; no second one comes about
// unasked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/bytes.hpp"
#include "core/secret_arena.hpp"

namespace zlink {

class curve_secret_key {
public:
    static constexpr std::size_t octets = arena_key::size;

    /// Zeros. Throws bad_alloc, as the next does.
    curve_secret_key() = default;
    curve_secret_key(const curve_secret_key &) = delete;
    curve_secret_key(curve_secret_key &&other) { *this = static_cast<curve_secret_key &&>(other); }

    curve_secret_key &operator=(const curve_secret_key &) = delete;
    curve_secret_key &operator=(curve_secret_key &&other) noexcept {
        if (this != &other) {
            std::memcpy(data(), other.data(), octets);
            other.wipe();
        }
        return *this;
    }

    std::uint8_t *data() noexcept { return octets_.data(); }
    const std::uint8_t *data() const noexcept { return octets_.data(); }
    static constexpr std::size_t size() noexcept { return octets; }
    operator byte_span() const noexcept { return {data(), octets}; }

    /// Nothing but zeros is left of it.
    void wipe() noexcept { ::explicit_bzero(data(), octets); }

private:
    arena_key octets_;
};

}  // namespace zlink
