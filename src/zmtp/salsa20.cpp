// See salsa20.hpp. Map: sixteen blocks in vectors; the choice.
//
// In a vector stands the same word of sixteen blocks. The words of the beginning, with the key in
// them, are wiped; key stream that the compiler keeps on the stack is not, as in libsodium. Vectors
// are passed by reference only, and all that is called is inlined: the compiler has no other way
// for what may not be there.
#include "zmtp/salsa20.hpp"

#include <array>
#include <cstring>
#include <sodium.h>

#include "core/bytes.hpp"

namespace zlink::salsa20 {

static_assert(key_size == crypto_stream_salsa20_KEYBYTES && nonce_size == crypto_stream_salsa20_NONCEBYTES);

// ---- sixteen blocks in vectors ----

#if defined(__x86_64__)

namespace {

#define ZLINK_WIDE        [[gnu::target("avx512f")]]
#define ZLINK_WIDE_INLINE [[gnu::target("avx512f"), gnu::always_inline]] inline

constexpr std::size_t lanes = 16;
constexpr std::size_t words = 16;
constexpr std::size_t octets_at_once = lanes * block_size;
using vector = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));
using beginning = std::array<std::uint32_t, words>;

template <int bits>
ZLINK_WIDE_INLINE void step(vector &to, const vector &a, const vector &b) {
    const vector sum = a + b;
    to ^= (sum << bits) | (sum >> (32 - bits));
}

ZLINK_WIDE_INLINE void quarter_round(vector &a, vector &b, vector &c, vector &d) {
    step<7>(b, a, d);
    step<9>(c, b, a);
    step<13>(d, c, b);
    step<18>(a, d, c);
}

ZLINK_WIDE_INLINE void double_round(vector (&x)[words]) {
    quarter_round(x[0], x[4], x[8], x[12]);
    quarter_round(x[5], x[9], x[13], x[1]);
    quarter_round(x[10], x[14], x[2], x[6]);
    quarter_round(x[15], x[3], x[7], x[11]);
    quarter_round(x[0], x[1], x[2], x[3]);
    quarter_round(x[5], x[6], x[7], x[4]);
    quarter_round(x[10], x[11], x[8], x[9]);
    quarter_round(x[15], x[12], x[13], x[14]);
}

/// In each four words: the first two of both vectors in turn, or the last two.
ZLINK_WIDE_INLINE void weave_words(const vector &a, const vector &b, vector &low, vector &high) {
    low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    high = __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
}
/// Does weave_words() with pairs of words.
ZLINK_WIDE_INLINE void weave_pairs(const vector &a, const vector &b, vector &low, vector &high) {
    low = __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    high = __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
}
/// The halves of two vectors.
ZLINK_WIDE_INLINE void weave_halves(const vector &a, const vector &b, vector &low, vector &high) {
    low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    high = __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
/// Every other quarter of two vectors.
ZLINK_WIDE_INLINE void weave_quarters(const vector &a, const vector &b, vector &even, vector &odd) {
    even = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    odd = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}

/// Four vectors have one word of each block. They get four words of the same block side by side, of
/// blocks 0, 4, 8 and 12, of 1, 5, 9 and 13, and so on.
ZLINK_WIDE_INLINE void turn_four(vector *x) {
    vector a, b, c, d;
    weave_words(x[0], x[1], a, b);
    weave_words(x[2], x[3], c, d);
    weave_pairs(a, c, x[0], x[1]);
    weave_pairs(b, d, x[2], x[3]);
}

ZLINK_WIDE_INLINE void cross_block(std::uint8_t *out, const std::uint8_t *in, std::size_t which,
                                   const vector &stream) {
    vector text;
    std::memcpy(&text, in + which * block_size, sizeof text);
    text ^= stream;
    std::memcpy(out + which * block_size, &text, sizeof text);
}

/// Turns words of sixteen blocks into blocks, and lays those on the octets.
ZLINK_WIDE_INLINE void cross_sixteen(std::uint8_t *out, const std::uint8_t *in, vector (&x)[words]) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < words; i += 4)
        turn_four(x + i);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        vector low, high, lower, higher, stream[4];
        weave_halves(x[i], x[4 + i], low, high);
        weave_halves(x[8 + i], x[12 + i], lower, higher);
        weave_quarters(low, lower, stream[0], stream[1]);
        weave_quarters(high, higher, stream[2], stream[3]);
#pragma GCC unroll 4
        for (std::size_t j = 0; j < 4; ++j)
            cross_block(out, in, 4 * j + i, stream[j]);
    }
}

ZLINK_WIDE_INLINE void fill(vector &with, std::uint32_t word) { with = word - vector{}; }

ZLINK_WIDE void cross_many(std::uint8_t *out, const std::uint8_t *in, std::size_t times,
                           std::uint64_t counter, const beginning &from) noexcept {
    for (; times > 0; --times) {
        vector x[words];
#pragma GCC unroll 16
        for (std::size_t i = 0; i < words; ++i)
            fill(x[i], from[i]);
        std::uint32_t low[lanes];
        std::uint32_t high[lanes];
        for (std::size_t i = 0; i < lanes; ++i, ++counter) {
            low[i] = static_cast<std::uint32_t>(counter);
            high[i] = static_cast<std::uint32_t>(counter >> 32);
        }
        vector counters[2];
        std::memcpy(&counters[0], low, sizeof low);
        std::memcpy(&counters[1], high, sizeof high);
        x[8] = counters[0];
        x[9] = counters[1];
        for (int i = 0; i < 10; ++i)
            double_round(x);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < words; ++i) {
            vector first;
            fill(first, from[i]);
            x[i] += i == 8 ? counters[0] : i == 9 ? counters[1] : first;
        }
        cross_sixteen(out, in, x);
        in += octets_at_once;
        out += octets_at_once;
    }
}

std::uint32_t word_at(const std::uint8_t *from) noexcept {
    return std::uint32_t{from[0]} | std::uint32_t{from[1]} << 8 | std::uint32_t{from[2]} << 16 |
           std::uint32_t{from[3]} << 24;
}

/// "expand 32-byte k" in the diagonal; the words of the counter are left out.
beginning begin_of(const std::uint8_t *nonce, const std::uint8_t *key) noexcept {
    beginning x{};
    constexpr std::uint32_t diagonal[] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (std::size_t i = 0; i < 4; ++i) {
        x[5 * i] = diagonal[i];
        x[1 + i] = word_at(key + 4 * i);
        x[11 + i] = word_at(key + 16 + 4 * i);
    }
    x[6] = word_at(nonce);
    x[7] = word_at(nonce + 4);
    return x;
}

/// Returns how many octets it has done.
std::size_t cross_in_vectors(std::uint8_t *out, const std::uint8_t *in, std::size_t size,
                             const std::uint8_t *nonce, std::uint64_t counter,
                             const std::uint8_t *key) noexcept {
    const std::size_t times = size / octets_at_once;
    if (times == 0 || !sodium_runtime_has_avx512f())
        return 0;
    beginning from = begin_of(nonce, key);
    cross_many(out, in, times, counter, from);
    sodium_memzero(from.data(), sizeof from);
    return times * octets_at_once;
}

}  // namespace

#else

namespace {
std::size_t cross_in_vectors(std::uint8_t *, const std::uint8_t *, std::size_t, const std::uint8_t *,
                             std::uint64_t, const std::uint8_t *) noexcept {
    return 0;
}
}  // namespace

#endif

// ---- the choice ----

void cross(std::uint8_t *out, const std::uint8_t *in, std::size_t size, const std::uint8_t *nonce,
           std::uint64_t counter, const std::uint8_t *key) noexcept {
    const std::size_t done = cross_in_vectors(out, in, size, nonce, counter, key);
    if (done < size)
        crypto_stream_salsa20_xor_ic(out + done, in + done, size - done, nonce, counter + done / block_size,
                                     key);
}

}  // namespace zlink::salsa20
