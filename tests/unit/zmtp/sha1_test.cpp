// The digest of RFC 3174, by known answers.
#include "zmtp/sha1.hpp"

#include <gtest/gtest.h>

#include <string>

namespace zlink {
namespace {

std::string hex(const sha1_digest &digest) {
    std::string out;
    for (const std::uint8_t octet : digest) {
        out += "0123456789abcdef"[octet >> 4];
        out += "0123456789abcdef"[octet & 15];
    }
    return out;
}

std::string digest_of(std::string_view text) { return hex(sha1(as_bytes(text))); }

TEST(sha1, gives_the_answers_of_the_standard) {
    EXPECT_EQ(digest_of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(digest_of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(digest_of(std::string(1'000'000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(sha1, pads_messages_of_every_size_around_the_end_of_a_block) {
    // The digest of the digests of 0 to 129 octets 'a', as hashlib makes it.
    std::string all;
    for (std::size_t size = 0; size < 130; ++size)
        all += digest_of(std::string(size, 'a'));
    EXPECT_EQ(digest_of(all), "020e571fd23e2a086018fa9bfa2fb3269f35017a");
}

}  // namespace
}  // namespace zlink
