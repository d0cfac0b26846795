// The first block of the key stream is half the key of the tag and half a mask for the first octets
// of the text.
#include "zmtp/curve_box.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <sodium.h>

#include "zmtp/salsa20.hpp"

namespace zlink {

namespace {

constexpr std::size_t half_block = 32;
constexpr std::size_t slice = 16 * 1024;
static_assert(crypto_core_hsalsa20_OUTPUTBYTES == arena_key::size);
static_assert(crypto_core_hsalsa20_INPUTBYTES == curve_box::prefix_size);
static_assert(crypto_onetimeauth_poly1305_BYTES == curve_box::tag_size);

static_assert(slice % salsa20::block_size == 0);

using nonce = std::array<std::uint8_t, salsa20::nonce_size>;

struct authenticator_state {
    crypto_onetimeauth_poly1305_state state;
    ~authenticator_state() { sodium_memzero(&state, sizeof state); }
};

struct first_block {
    std::array<std::uint8_t, 2 * half_block> octets{};
    ~first_block() { sodium_memzero(octets.data(), octets.size()); }

    std::uint8_t *text() noexcept { return octets.data() + half_block; }
    void cross(std::size_t text_size, const nonce &n, const std::uint8_t *key) noexcept {
        crypto_stream_salsa20_xor(octets.data(), octets.data(), half_block + text_size, n.data(), key);
    }
};

/// Does `step` for each slice of so many octets behind the first block, with the number of the
/// block that the slice begins with.
template <class Step>
void for_each_slice(std::size_t size, Step step) noexcept {
    for (std::size_t at = 0; at < size; at += slice)
        step(at, std::min(slice, size - at), 1 + at / salsa20::block_size);
}

}  // namespace

curve_box::curve_box(const std::uint8_t *shared, const char (&prefix)[prefix_size + 1]) {
    std::array<std::uint8_t, prefix_size> in;
    std::memcpy(in.data(), prefix, in.size());
    crypto_core_hsalsa20(subkey_.data(), in.data(), shared, nullptr);
}

void curve_box::seal(std::uint64_t number, std::uint8_t first, byte_span rest,
                     std::uint8_t *out) const noexcept {
    nonce n;
    put_u64(n.data(), number);
    first_block block;
    const std::size_t beside = std::min(rest.size(), half_block - 1);
    block.text()[0] = first;
    if (beside > 0)
        std::memcpy(block.text() + 1, rest.data(), beside);
    block.cross(1 + beside, n, subkey_.data());
    authenticator_state tag;
    crypto_onetimeauth_poly1305_init(&tag.state, block.octets.data());
    std::uint8_t *const text = out + tag_size;
    std::memcpy(text, block.text(), 1 + beside);
    crypto_onetimeauth_poly1305_update(&tag.state, text, 1 + beside);
    for_each_slice(rest.size() - beside, [&](std::size_t at, std::size_t size, std::uint64_t counter) {
        std::uint8_t *const to = text + half_block + at;
        salsa20::cross(to, rest.data() + beside + at, size, n.data(), counter, subkey_.data());
        crypto_onetimeauth_poly1305_update(&tag.state, to, size);
    });
    crypto_onetimeauth_poly1305_final(&tag.state, out);
}

bool curve_box::open(std::uint64_t number, std::span<std::uint8_t> box) const noexcept {
    if (box.size() < tag_size)
        return false;
    nonce n;
    put_u64(n.data(), number);
    const std::span<std::uint8_t> text = box.subspan(tag_size);
    const std::size_t beside = std::min(text.size(), half_block);
    first_block block;
    std::memcpy(block.text(), text.data(), beside);
    block.cross(beside, n, subkey_.data());
    authenticator_state tag;
    crypto_onetimeauth_poly1305_init(&tag.state, block.octets.data());
    crypto_onetimeauth_poly1305_update(&tag.state, text.data(), beside);
    std::memcpy(text.data(), block.text(), beside);
    for_each_slice(text.size() - beside, [&](std::size_t at, std::size_t size, std::uint64_t counter) {
        std::uint8_t *const octets = text.data() + half_block + at;
        crypto_onetimeauth_poly1305_update(&tag.state, octets, size);
        salsa20::cross(octets, octets, size, n.data(), counter, subkey_.data());
    });
    std::array<std::uint8_t, tag_size> expected;
    crypto_onetimeauth_poly1305_final(&tag.state, expected.data());
    return crypto_verify_16(expected.data(), box.data()) == 0;
}

}  // namespace zlink
