// A hash for tables whose keys a peer chooses: without the key nobody can tell which octets fall
// together.
//
// SipHash-1-3, from the description of the family by Aumasson and Bernstein ("SipHash: a fast
// short-input PRF").
// Threads:  any; a hash does not change.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/random.hpp"

namespace zlink {

class keyed_hash {
public:
    explicit keyed_hash(random_source &random) noexcept {
        key_[0] = random.next();
        key_[1] = random.next();
    }

    /// Not noexcept, so that the standard library's tables keep the hash of each entry instead of
    /// asking again.
    std::size_t operator()(std::string_view text) const {
        state s{key_[0] ^ 0x736f6d6570736575, key_[1] ^ 0x646f72616e646f6d, key_[0] ^ 0x6c7967656e657261,
                key_[1] ^ 0x7465646279746573};
        const char *at = text.data();
        std::size_t left = text.size();
        for (; left >= word; at += word, left -= word)
            s.take(load(at, word));
        s.take(std::uint64_t{text.size()} << 56 | load(at, left));
        s.c ^= 0xff;
        for (int i = 0; i < last_rounds; ++i)
            s.round();
        return static_cast<std::size_t>(s.a ^ s.b ^ s.c ^ s.d);
    }

private:
    static constexpr std::size_t word = 8;
    static constexpr int last_rounds = 3;  // one for each word before

    struct state {
        void round() noexcept {
            a += b;
            c += d;
            b = std::rotl(b, 13) ^ a;
            d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32);
            c += b;
            a += d;
            b = std::rotl(b, 17) ^ c;
            d = std::rotl(d, 21) ^ a;
            c = std::rotl(c, 32);
        }
        void take(std::uint64_t octets) noexcept {
            d ^= octets;
            round();
            a ^= octets;
        }

        std::uint64_t a, b, c, d;
    };

    /// Up to eight octets, the first one lowest.
    static std::uint64_t load(const char *from, std::size_t size) noexcept {
        std::uint64_t octets = 0;
        if (size > 0)
            std::memcpy(&octets, from, size);
        return std::endian::native == std::endian::little ? octets : __builtin_bswap64(octets);
    }

    std::uint64_t key_[2];
};

}  // namespace zlink
