// The mask that a WebSocket client lays over what it sends.
//
// Wire:     RFC 6455, section 5.3: octet i of a payload is combined with octet i mod 4 of the key,
//           by exclusive or.
// Keys:     of a key stream (ChaCha20) for each writer, whose own key is from the system's
//           generator; each is used once. A program in whose hands a part of the payload is cannot
//           say what octets go over the wire.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/bytes.hpp"

namespace zlink {

using mask_key = std::array<std::uint8_t, 4>;

/// The key for what stands behind `octets` of a payload.
inline mask_key advanced(const mask_key &key, std::uint64_t octets) noexcept {
    const int bits = static_cast<int>(octets & 3) * 8;
    const auto number = std::bit_cast<std::uint32_t>(key);
    return std::bit_cast<mask_key>(std::endian::native == std::endian::little ? std::rotr(number, bits)
                                                                              : std::rotl(number, bits));
}

/// Lays a mask on octets, or takes it away, while they are copied. `to` may be where `from` is, or
/// in front of it.
inline void mask_octets(std::uint8_t *to, const std::uint8_t *from, std::size_t size,
                        const mask_key &key) noexcept {
    typedef std::uint64_t vector [[gnu::vector_size(16)]];
    const std::uint64_t word = std::bit_cast<std::uint32_t>(key) * ((std::uint64_t{1} << 32) + 1);
    const vector words{word, word};
    const auto masked = [&](std::size_t at) {
        vector v;
        std::memcpy(&v, from + at, sizeof v);
        return v ^ words;
    };
    std::size_t at = 0;
    // One variable for each: the compiler keeps an array of them in memory, at a third of the
    // speed.
    for (constexpr std::size_t step = 4 * sizeof(vector); at + step <= size; at += step) {
        const vector a = masked(at), b = masked(at + 16), c = masked(at + 32), d = masked(at + 48);
        std::memcpy(to + at, &a, sizeof a);
        std::memcpy(to + at + 16, &b, sizeof b);
        std::memcpy(to + at + 32, &c, sizeof c);
        std::memcpy(to + at + 48, &d, sizeof d);
    }
    for (; at + sizeof word <= size; at += sizeof word) {
        std::uint64_t v;
        std::memcpy(&v, from + at, sizeof v);
        v ^= word;
        std::memcpy(to + at, &v, sizeof v);
    }
    for (; at < size; ++at)
        to[at] = from[at] ^ key[at & 3];
}

constexpr std::size_t mask_step = 16;
/// Masks in whole steps. `to` and `from` do not overlap, and both have up to mask_step - 1 octets
/// more than `size`, which are read and written, too.
inline void mask_steps(std::uint8_t *to, const std::uint8_t *from, std::size_t size,
                       const mask_key &key) noexcept {
    typedef std::uint64_t vector [[gnu::vector_size(mask_step)]];
    const std::uint64_t word = std::bit_cast<std::uint32_t>(key) * ((std::uint64_t{1} << 32) + 1);
    const vector words{word, word};
    for (std::size_t at = 0; at < size; at += mask_step) {
        vector v;
        std::memcpy(&v, from + at, sizeof v);
        v ^= words;
        std::memcpy(to + at, &v, sizeof v);
    }
}

/// Appends octets and lays a mask on them. Throws bad_alloc.
void append_masked(std::vector<std::uint8_t> &out, byte_span octets, mask_key key);

/// Keys for the frames of one writer.
class mask_keys {
public:
    mask_key next() noexcept {
        if (used_ == drawn_.size())
            draw();
        return drawn_[used_++];
    }

private:
    void draw() noexcept;

    std::array<mask_key, 128> drawn_{};  // octets of a key stream
    std::size_t used_ = drawn_.size();
    [[maybe_unused]] std::array<std::uint8_t, 32> seed_;  // its key, once something was drawn
    [[maybe_unused]] std::uint64_t draws_ = 0;
};

}  // namespace zlink
