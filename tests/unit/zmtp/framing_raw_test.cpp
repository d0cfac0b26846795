// Octets without frames: what goes out, and what messages come of what comes in.
#include "zmtp/framing_raw.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "decoded_in_place.hpp"
#include "zmtp/frame_walk.hpp"

namespace zlink {
namespace {

using octets = std::string;
using testing::decoded_in_place;

octets random_octets(std::size_t size, std::mt19937 &random) {
    octets out(size, '\0');
    for (char &octet : out)
        octet = static_cast<char>(random());
    return out;
}

/// The bodies of frames, each of them a message.
std::vector<octets> messages_of(const octets &frames) {
    bool in_message = false;
    const walk_result walked = walk_frames(as_bytes(frames), in_message, {});
    EXPECT_EQ(walked.stop, walk_stop::need_more);
    EXPECT_EQ(walked.message_octets, frames.size());
    std::vector<octets> out;
    frame_header header;
    for (std::size_t at = 0; at < frames.size(); at += header.header_size + header.body_size) {
        EXPECT_TRUE(get_frame_header(as_bytes(frames).data() + at, frames.size() - at, header));
        out.push_back(frames.substr(at + header.header_size, header.body_size));
    }
    EXPECT_EQ(out.size(), walked.messages);
    return out;
}

TEST(framing_raw, writes_bodies_and_nothing_else) {
    const framing_raw raw;
    EXPECT_FALSE(raw.is_identity());
    std::vector<std::uint8_t> out;
    raw.encode(frame_flag::more, as_bytes("GET "), out);
    raw.encode(0, {}, out);
    raw.encode_subscription(true, as_bytes("topic"), out);
    raw.encode(0, as_bytes(octets(70000, 'x')), out);
    EXPECT_EQ(octets(out.begin(), out.end()), "GET " + octets(70000, 'x'));
}

TEST(framing_raw, makes_a_message_of_what_a_read_has_brought) {
    const auto decoder = framing_raw().make_decoder();
    for (const octets &each : {octets("a"), octets(255, 'b'), octets(256, 'c'), octets(8192, 'd')})
        EXPECT_EQ(messages_of(decoded_in_place(*decoder, each)), std::vector{each});
    EXPECT_EQ(decoded_in_place(*decoder, ""), "");
}

TEST(framing_raw, makes_several_of_a_long_read) {
    const auto decoder = framing_raw().make_decoder();
    const octets read(3 * 8192 + 7, 'x');
    const auto messages = messages_of(decoded_in_place(*decoder, read));
    ASSERT_EQ(messages.size(), 4u);
    EXPECT_EQ(messages[0].size(), 8192u);
    EXPECT_EQ(messages[3].size(), 7u);
}

TEST(framing_raw, keeps_to_the_size_it_was_given) {
    EXPECT_EQ(messages_of(decoded_in_place(*framing_raw(1000).make_decoder(), octets(2500, 'x'))).size(), 3u);
    // Messages of a few octets would be headers more than anything else.
    EXPECT_EQ(messages_of(decoded_in_place(*framing_raw(1).make_decoder(), octets(600, 'x'))).size(), 3u);
}

TEST(framing_raw, loses_nothing_whatever_the_pieces) {
    std::mt19937 random(17);
    for (int round = 0; round < 300; ++round) {
        const std::size_t largest = round % 3 ? 8192 : 256 + random() % 1000;
        const auto decoder = framing_raw(largest).make_decoder();
        const octets sent = random_octets(random() % 60000, random);
        octets received;
        for (std::size_t at = 0, size; at < sent.size(); at += size) {
            size = std::min<std::size_t>(1 + random() % 30000, sent.size() - at);
            const octets frames = decoded_in_place(*decoder, sent.substr(at, size), random() % 30000);
            for (const octets &each : messages_of(frames)) {
                EXPECT_LE(each.size(), largest);
                received += each;
            }
        }
        ASSERT_EQ(received, sent);
    }
}

}  // namespace
}  // namespace zlink
