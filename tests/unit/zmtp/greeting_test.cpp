// The greeting's layout, and what each of its octets decides.
#include "zmtp/greeting.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <random>

#include "script.hpp"

namespace zlink {
namespace {

using testing::octets;

greeting_octets received(const octets &bytes) {
    greeting_octets out{};
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return out;
}

TEST(greeting, has_the_layout_of_the_specification) {
    const greeting_octets ours = make_greeting("NULL", false);
    EXPECT_EQ(octets(as_text(ours)), testing::greeting());
    EXPECT_EQ(make_greeting("PLAIN", true)[32], 1);
}

TEST(greeting, opens_like_the_header_of_a_frame_with_the_routing_id) {
    for (std::uint8_t size : {0, 3, 254}) {
        const greeting_octets ours = make_greeting("NULL", false, size);
        const greeting_octets plain = make_greeting("NULL", false);
        EXPECT_EQ(ours[8], size + 1);
        EXPECT_TRUE(std::equal(plain.begin() + 9, plain.end(), ours.begin() + 9));
    }
}

TEST(greeting, decides_on_the_version_with_the_eleventh_octet_and_not_before) {
    const octets whole = testing::greeting();
    for (std::size_t size = 0; size <= whole.size(); ++size)
        EXPECT_EQ(detect_version(as_bytes(whole).first(size)),
                  size < 11 ? greeting_version::undecided : greeting_version::zmtp_3);
}

TEST(greeting, takes_any_first_octet_but_ff_for_an_unversioned_peer) {
    for (int first = 0; first < 256; ++first) {
        octets bytes = testing::greeting();
        bytes[0] = static_cast<char>(first);
        EXPECT_EQ(detect_version(as_bytes(bytes)),
                  first == 0xff ? greeting_version::zmtp_3 : greeting_version::zmtp_1_0);
        EXPECT_EQ(detect_version(as_bytes(bytes).first(1)),
                  first == 0xff ? greeting_version::undecided : greeting_version::zmtp_1_0);
    }
}

TEST(greeting, needs_7f_at_the_end_of_the_signature) {
    for (int last = 0; last < 256; ++last) {
        octets bytes = testing::greeting();
        bytes[9] = static_cast<char>(last);
        EXPECT_EQ(detect_version(as_bytes(bytes)), last == 0x7f ? greeting_version::zmtp_3
                                                   : last & 1   ? greeting_version::not_zmtp
                                                                : greeting_version::zmtp_1_0);
    }
}

TEST(greeting, accepts_any_major_version_from_three_on) {
    for (int major = 0; major < 256; ++major)
        for (const int minor : {0, 1, 7, 255}) {
            const octets bytes = testing::greeting("NULL", major, minor);
            EXPECT_EQ(detect_version(as_bytes(bytes)),
                      major < 3 ? greeting_version::zmtp_2_0 : greeting_version::zmtp_3);
            const greeting_octets fields = received(bytes);
            EXPECT_EQ(greeting_view(fields).is_3_0(), major == 3 && minor == 0);
        }
}

TEST(greeting, does_not_look_at_the_padding) {
    std::mt19937 random(3);
    for (int round = 0; round < 10000; ++round) {
        octets bytes = testing::greeting();
        for (std::size_t i = 1; i < 9; ++i)
            bytes[i] = static_cast<char>(random());
        EXPECT_EQ(detect_version(as_bytes(bytes)), greeting_version::zmtp_3);
    }
}

TEST(greeting, compares_all_twenty_octets_of_the_mechanism) {
    const greeting_octets good = received(testing::greeting());
    EXPECT_TRUE(greeting_view(good).has_mechanism("NULL"));
    EXPECT_FALSE(greeting_view(good).has_mechanism("PLAIN"));
    EXPECT_FALSE(greeting_view(good).has_mechanism("NUL"));
    for (std::size_t at = 12; at < 32; ++at) {
        greeting_octets bad = good;
        bad[at] ^= 0x20;  // also the difference between upper and lower case
        EXPECT_FALSE(greeting_view(bad).has_mechanism("NULL"));
    }
    for (std::size_t at = 33; at < 64; ++at) {
        greeting_octets odd = good;
        odd[at] = 0xee;
        EXPECT_TRUE(greeting_view(odd).has_mechanism("NULL"));
    }
}

}  // namespace
}  // namespace zlink
