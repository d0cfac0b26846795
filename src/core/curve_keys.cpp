#include "core/curve_keys.hpp"

#include <sodium.h>

namespace zlink {

static_assert(crypto_box_PUBLICKEYBYTES == std::tuple_size_v<curve_key>);
static_assert(crypto_box_SECRETKEYBYTES == std::tuple_size_v<curve_key>);

bool make_curve_keys(curve_key &public_key, curve_key &secret_key) noexcept {
    return sodium_init() >= 0 && crypto_box_keypair(public_key.data(), secret_key.data()) == 0;
}

bool derive_curve_public(const curve_key &secret_key, curve_key &public_key) noexcept {
    return sodium_init() >= 0 && crypto_scalarmult_base(public_key.data(), secret_key.data()) == 0;
}

}  // namespace zlink
