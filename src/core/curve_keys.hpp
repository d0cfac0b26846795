// CURVE key pairs: making them and deriving the public half. The one place that knows libsodium's key functions.
#pragma once

#include <array>
#include <cstdint>

namespace zlink {

using curve_key = std::array<std::uint8_t, 32>;

/// Makes a fresh pair. False when the system gives no randomness.
bool make_curve_keys(curve_key &public_key, curve_key &secret_key) noexcept;
/// The public key that belongs to a secret one (X25519). False for a secret key that has none.
bool derive_curve_public(const curve_key &secret_key, curve_key &public_key) noexcept;

}  // namespace zlink
