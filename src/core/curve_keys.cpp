// Key pairs by libsodium; see curve_keys.hpp.
#include "core/curve_keys.hpp"

#include <sodium.h>

#include "core/invariant.hpp"
#include "core/platform.hpp"
#include "core/sodium.hpp"

namespace zlink {

static_assert(crypto_box_PUBLICKEYBYTES == std::tuple_size_v<curve_key>);
static_assert(crypto_box_SECRETKEYBYTES == curve_secret_key::octets);

bool make_curve_keys(curve_key &public_key, curve_secret_key &secret_key) noexcept {
    return platform::draw_secret_octets(secret_key.data(), secret_key.size()) &&
           derive_curve_public(secret_key, public_key);
}

bool derive_curve_public(byte_span secret_key, curve_key &public_key) noexcept {
    ZLINK_INVARIANT(secret_key.size() == curve_secret_key::octets);
    return begin_sodium() && crypto_scalarmult_base(public_key.data(), secret_key.data()) == 0;
}

}  // namespace zlink
