// The boxes that a CURVE handshake is made of, and where its random octets come from.
//
// Wire:     RFC 26/CurveZMQ: crypto_box of NaCl, which is X25519, XSalsa20 and Poly1305. A box is
//           16 octets longer than what it holds. The secret that two keys agree on opens all the
//           boxes between them, so it is computed once; the cookie's key is drawn.
// Limits:   nothing here branches on what is secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/bytes.hpp"
#include "core/curve_keys.hpp"

namespace zlink::curve {

constexpr std::size_t key_size = curve_secret_key::octets;
constexpr std::size_t box_overhead = 16;

/// Contract: octets that nobody else can tell. A test has its own.
class random_octets {
public:
    virtual ~random_octets() = default;
    /// False when there are none.
    virtual bool draw(std::uint8_t *to, std::size_t size) const noexcept = 0;
};
/// The system's.
const random_octets &system_octets() noexcept;

/// The nonce of one box only: a prefix that says what the box is for, and something that does not
/// come again.
using nonce = std::array<std::uint8_t, 24>;
constexpr std::size_t long_nonce_size = 16;
constexpr std::size_t short_nonce_size = 8;
/// `drawn` has long_nonce_size octets, as they stand on the wire.
nonce make_nonce(std::string_view prefix, byte_span drawn) noexcept;
nonce make_nonce(std::string_view prefix, std::uint64_t number) noexcept;

/// A fresh short-term pair.
bool make_pair(const random_octets &from, curve_key &public_key, curve_secret_key &secret_key) noexcept;
/// Computes what both sides of a box have in common. False for a public key that would make it the
/// same with everybody.
bool agree(byte_span own_secret, byte_span their_public, curve_secret_key &out) noexcept;

/// Writes box_overhead octets more than there are in `text`.
void seal(byte_span text, const nonce &used, const curve_secret_key &shared, std::uint8_t *out) noexcept;
/// Writes what is in a box, box_overhead octets less. False, and nothing of use is written, where
/// the box is not what was sealed.
bool open(byte_span box, const nonce &used, const curve_secret_key &shared, std::uint8_t *out) noexcept;

/// Takes the same time whatever the answer is.
bool are_same(byte_span a, byte_span b) noexcept;
bool is_zero(byte_span octets) noexcept;

}  // namespace zlink::curve
