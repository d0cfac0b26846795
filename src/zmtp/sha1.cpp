// The rounds of SHA-1 over blocks of 64 octets, and its padding; see sha1.hpp.
#include "zmtp/sha1.hpp"

#include <bit>

namespace zlink {

namespace {

constexpr std::size_t block_size = 64;
constexpr std::size_t length_size = 8;

using sha1_state = std::array<std::uint32_t, 5>;

void add_block(sha1_state &state, const std::uint8_t *block) noexcept {
    std::array<std::uint32_t, 80> w;
    for (std::size_t i = 0; i < 16; ++i)
        w[i] = get_u32(block + 4 * i);
    for (std::size_t i = 16; i < w.size(); ++i)
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < w.size(); ++i) {
        const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                : i < 40 ? b ^ c ^ d
                                : i < 60 ? (b & c) | (b & d) | (c & d)
                                         : b ^ c ^ d;
        const std::uint32_t k = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
        const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

}  // namespace

sha1_digest sha1(byte_span message) noexcept {
    sha1_state state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const std::uint64_t bits = std::uint64_t{8} * message.size();
    for (; message.size() >= block_size; message = message.subspan(block_size))
        add_block(state, message.data());
    std::array<std::uint8_t, 2 * block_size> last{};
    std::copy(message.begin(), message.end(), last.begin());
    last[message.size()] = 0x80;
    const std::size_t end = message.size() + 1 + length_size > block_size ? 2 * block_size : block_size;
    put_u64(last.data() + end - length_size, bits);
    for (std::size_t at = 0; at < end; at += block_size)
        add_block(state, last.data() + at);
    sha1_digest digest;
    for (std::size_t i = 0; i < state.size(); ++i)
        put_u32(digest.data() + 4 * i, state[i]);
    return digest;
}

}  // namespace zlink
