// Each framing alone: what it encodes, and that decoding gives it back, whatever the pieces.
#include "zmtp/framing.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "decoded_in_place.hpp"
#include "zmtp/frame_walk.hpp"

namespace zlink {
namespace {

using octets = std::string;
using testing::decoded_in_place;

octets encoded(const framing &by, std::uint8_t flags, const octets &body) {
    std::vector<std::uint8_t> out;
    by.encode(flags, as_bytes(body), out);
    return {out.begin(), out.end()};
}

TEST(framing, of_2_0_and_later_is_that_of_the_queue) {
    for (const framing *each : {&framing_of_zmtp_2_0(), &framing_of_zmtp_3_1()}) {
        EXPECT_TRUE(each->is_identity());
        EXPECT_EQ(each->make_decoder(), nullptr);
        EXPECT_EQ(encoded(*each, frame_flag::more, "ab"), octets("\1\2ab"));
        EXPECT_EQ(encoded(*each, 0, octets(256, 'x')), octets("\2\0\0\0\0\0\0\1\0", 9) + octets(256, 'x'));
    }
}

TEST(framing, of_1_0_counts_the_flags_and_has_a_long_length_from_255_on) {
    const framing &by = framing_of_zmtp_1_0();
    EXPECT_FALSE(by.is_identity());
    EXPECT_EQ(encoded(by, 0, ""), octets("\1\0", 2));
    EXPECT_EQ(encoded(by, frame_flag::more, "ab"), octets("\3\1ab"));
    EXPECT_EQ(encoded(by, 0, octets(253, 'x')), octets("\xfe\0", 2) + octets(253, 'x'));
    EXPECT_EQ(encoded(by, 0, octets(254, 'x')), octets("\xff\0\0\0\0\0\0\0\xff\0", 10) + octets(254, 'x'));
    EXPECT_EQ(encoded(by, 1, octets(65536, 'x')).substr(0, 10), octets("\xff\0\0\0\0\0\1\0\1\1", 10));
}

struct frames {
    octets queue, wire;
};

frames random_frames(const framing &by, std::mt19937 &random) {
    static constexpr std::size_t sizes[] = {0, 1, 2, 9, 252, 253, 254, 255, 256, 257, 3000};
    frames out;
    for (unsigned n = random() % 20; n > 0; --n) {
        octets body(random() % 3 ? random() % 30 : sizes[random() % std::size(sizes)], '\0');
        for (char &octet : body)
            octet = static_cast<char>(random());
        const auto flags = static_cast<std::uint8_t>(random() % 2);
        out.queue += encoded(framing_of_zmtp_2_0(), flags, body);
        out.wire += encoded(by, flags, body);
    }
    return out;
}

TEST(framing, of_1_0_decodes_what_it_encodes_whatever_the_pieces) {
    std::mt19937 random(13);
    for (int round = 0; round < 3000; ++round) {
        const frames some = random_frames(framing_of_zmtp_1_0(), random);
        const auto decoder = framing_of_zmtp_1_0().make_decoder();
        const std::size_t longest = round % 7 == 0 ? 1 : 1 + random() % 400;
        octets out;
        for (std::size_t at = 0, size; at < some.wire.size(); at += size) {
            size = std::min<std::size_t>(1 + random() % longest, some.wire.size() - at);
            out += decoded_in_place(*decoder, std::string_view(some.wire).substr(at, size));
        }
        ASSERT_EQ(out, some.queue);
        EXPECT_EQ(decoder->lead(1), 0u);
    }
}

TEST(framing, of_1_0_goes_on_behind_a_body_that_was_read_elsewhere) {
    const framing &by = framing_of_zmtp_1_0();
    const octets body(1000, 'x');
    const octets wire = encoded(by, 1, body) + encoded(by, 0, "next");
    for (const std::size_t passed : {1, 500, 900}) {
        const auto decoder = by.make_decoder();
        const std::size_t begun = 10 + 100;
        octets out = decoded_in_place(*decoder, wire.substr(0, begun));
        octets elsewhere = wire.substr(begun, passed);
        decoder->pass({reinterpret_cast<std::uint8_t *>(elsewhere.data()), passed});
        out += elsewhere;
        out += decoded_in_place(*decoder, wire.substr(begun + passed));
        EXPECT_EQ(out, encoded(framing_of_zmtp_2_0(), 1, body) + encoded(framing_of_zmtp_2_0(), 0, "next"));
    }
}

TEST(framing, of_1_0_reads_a_short_frame_in_the_long_form) {
    const auto decoder = framing_of_zmtp_1_0().make_decoder();
    EXPECT_EQ(decoded_in_place(*decoder, {"\xff\0\0\0\0\0\0\0\2\1x\xff\0\0\0\0\0\0\0\1\0", 21}),
              octets("\1\1x\0\0", 5));
}

TEST(framing, of_1_0_gives_the_walk_something_to_refuse_where_it_is_broken) {
    for (const octets &bad :
         {octets("\0\0", 2), octets("\xff\0\0\0\0\0\0\0\0\0", 10), octets("\1\2"), octets("\1\4"),
          octets("\1\x80"), octets("\xff\0\0\0\0\0\0\0\2\xfe", 10), octets("\xff\x80\0\0\0\0\0\0\1\0", 10),
          octets("\xff\xff\xff\xff\xff\xff\xff\xff\xff\0", 10)}) {
        const auto decoder = framing_of_zmtp_1_0().make_decoder();
        const octets out = decoded_in_place(*decoder, octets("\2\0a", 3) + bad + octets("\2\0b", 3));
        bool in_message = false;
        const walk_result walked = walk_frames(as_bytes(out), in_message, {});
        EXPECT_EQ(walked.messages, 1u);
        EXPECT_EQ(walked.stop, walk_stop::bad_frame);
    }
}

TEST(framing, of_1_0_leaves_limits_to_the_walk) {
    const auto decoder = framing_of_zmtp_1_0().make_decoder();
    const octets out = decoded_in_place(*decoder, {"\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0", 10});
    bool in_message = false;
    walk_limits limits;
    EXPECT_EQ(walk_frames(as_bytes(out), in_message, limits).stop, walk_stop::need_more);
    limits.max_body = 1 << 20;
    EXPECT_EQ(walk_frames(as_bytes(out), in_message, limits).stop, walk_stop::too_big);
}

}  // namespace
}  // namespace zlink
