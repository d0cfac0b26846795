// The boxes of CURVE that carry traffic: XSalsa20 with Poly1305, octet for octet what crypto_box
// makes of the same key and nonce.
//
// Cost:     the first 16 octets of the nonce are the same for all boxes of one direction, and so is
//           what XSalsa20 derives from them: that is done once. A long box is gone through once, a
//           slice at a time, while the slice is in the cache.
// Source:   RFC 26/CurveZMQ; D. J. Bernstein, "Cryptography in NaCl" and "Extending the Salsa20
//           nonce".
#pragma once

#include <cstdint>
#include <span>

#include "core/bytes.hpp"
#include "core/secret_arena.hpp"

namespace zlink {

class curve_box {
public:
    static constexpr std::size_t tag_size = 16;
    static constexpr std::size_t key_size = 32;
    static constexpr std::size_t prefix_size = 16;

    /// `shared`: as crypto_box_beforenm makes it of two keys, key_size octets. `prefix`: what
    /// nonces begin with. Throws bad_alloc.
    curve_box(const std::uint8_t *shared, const char (&prefix)[prefix_size + 1]);

    /// Puts the box of `first` and `rest` at `out`: tag_size + 1 + rest.size() octets, which do not
    /// overlap with `rest`. `number` is what the nonce ends with: once for each box of this
    /// direction, or all secrecy is gone.
    void seal(std::uint64_t number, std::uint8_t first, byte_span rest, std::uint8_t *out) const noexcept;
    /// Opens a box where it stands: behind the tag stands then what was sealed. False when it is
    /// not what somebody with the key has sealed: then nobody is to see what stands there.
    bool open(std::uint64_t number, std::span<std::uint8_t> box) const noexcept;

private:
    arena_key subkey_;
};

}  // namespace zlink
