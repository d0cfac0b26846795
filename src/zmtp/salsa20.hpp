// The key stream of Salsa20, laid on octets.
//
// Cost:     where the processor has vectors of 512 bits (AVX-512), sixteen blocks at a time, at
//           twice the rate of libsodium, which does what is left, and all of it elsewhere.
// Time:     the same for the same number of octets, whatever they are.
// Source:   D. J. Bernstein, "The Salsa20 family of stream ciphers".
#pragma once

#include <cstddef>
#include <cstdint>

namespace zlink::salsa20 {

inline constexpr std::size_t nonce_size = 8;
inline constexpr std::size_t key_size = 32;
inline constexpr std::size_t block_size = 64;

/// Lays the key stream from block `counter` on upon `size` octets: `out` may be `in`, and else does
/// not overlap with it.
void cross(std::uint8_t *out, const std::uint8_t *in, std::size_t size, const std::uint8_t *nonce,
           std::uint64_t counter, const std::uint8_t *key) noexcept;

}  // namespace zlink::salsa20
