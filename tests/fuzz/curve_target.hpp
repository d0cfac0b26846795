// Holds what the targets of CURVE have in common: the keys of both sides, and drawn octets that a
// target knows as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/settings.hpp"
#include "zmtp/curve_crypto.hpp"

namespace zlink::test {

/// A pair of long-term keys that follows from one octet.
struct curve_pair {
    explicit curve_pair(std::uint8_t octet) : secret_half(curve::key_size, static_cast<char>(octet)) {
        curve_key key{};
        (void)derive_curve_public(as_bytes(secret_half), key);
        public_half = as_text(key);
    }
    std::string secret_half, public_half;
};

inline const curve_pair &pair_of_client() {
    static const curve_pair pair('c');
    return pair;
}
inline const curve_pair &pair_of_server() {
    static const curve_pair pair('s');
    return pair;
}

inline settings curve_options(bool is_server, socket_type type) {
    settings options;
    options.type = type;
    options.mechanism = mechanism_kind::curve;
    options.curve_server = is_server;
    const curve_pair &own = is_server ? pair_of_server() : pair_of_client();
    options.curve_public_key = own.public_half;
    options.curve_secret_key = std::string_view(own.secret_half);
    options.curve_server_key = pair_of_server().public_half;
    return options;
}

/// Octets that follow from one another.
class known_octets final : public curve::random_octets {
public:
    explicit known_octets(std::uint8_t first) noexcept : next_(first) {}
    bool draw(std::uint8_t *to, std::size_t size) const noexcept override {
        for (std::size_t i = 0; i < size; ++i)
            to[i] = next_++;
        return true;
    }

private:
    mutable std::uint8_t next_;
};

}  // namespace zlink::test
