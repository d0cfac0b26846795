// CURVE key pairs: making them and deriving the public half. Each function answers false where
// libsodium does not start.
#pragma once

#include <array>
#include <cstdint>

#include "core/curve_secret_key.hpp"

namespace zlink {

using curve_key = std::array<std::uint8_t, curve_secret_key::octets>;

/// Makes a fresh pair. False when the system gives no randomness.
bool make_curve_keys(curve_key &public_key, curve_secret_key &secret_key) noexcept;
/// The public key that belongs to a secret one of 32 octets (X25519). False for a secret key that
/// has none.
bool derive_curve_public(byte_span secret_key, curve_key &public_key) noexcept;

}  // namespace zlink
