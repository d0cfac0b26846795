// A secret of 32 octets: a secret key, or what two sides agreed on. It is wiped when it goes, and
// no second one comes about unasked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/bytes.hpp"

namespace zlink {

class curve_secret_key {
public:
    static constexpr std::size_t octets = 32;

    curve_secret_key() noexcept = default;
    curve_secret_key(const curve_secret_key &) = delete;
    curve_secret_key(curve_secret_key &&other) noexcept { *this = static_cast<curve_secret_key &&>(other); }
    ~curve_secret_key() { wipe(); }

    curve_secret_key &operator=(const curve_secret_key &) = delete;
    curve_secret_key &operator=(curve_secret_key &&other) noexcept {
        if (this != &other) {
            std::memcpy(octets_, other.octets_, octets);
            other.wipe();
        }
        return *this;
    }

    std::uint8_t *data() noexcept { return octets_; }
    const std::uint8_t *data() const noexcept { return octets_; }
    static constexpr std::size_t size() noexcept { return octets; }
    operator byte_span() const noexcept { return {octets_, octets}; }

    /// Nothing but zeros is left of it.
    void wipe() noexcept { ::explicit_bzero(octets_, octets); }

private:
    std::uint8_t octets_[octets] = {};
};

}  // namespace zlink
