// The frame walk against a naive parser, and at each limit.
#include <gtest/gtest.h>

#include <random>

#include "script.hpp"
#include "zmtp/frame_walk.hpp"

namespace zlink {
namespace {

using testing::command_frame;
using testing::message;
using testing::octets;
using testing::part;

// The rules once more, octet by octet and without a thought for speed.
walk_result naive_walk(byte_span in, bool &in_message, const walk_limits &limits) {
    walk_result out;
    for (;;) {
        const byte_span rest = in.subspan(out.octets);
        out.next = {};
        const bool at_limit = out.messages >= limits.max_messages;
        out.stop = at_limit ? walk_stop::message_limit : walk_stop::need_more;
        if (rest.empty())
            return out;
        const int flags = rest[0];
        const bool is_long = flags & 2, is_command = flags & 4;
        if (flags > 7 || (flags & 5) == 5) {
            if (!at_limit)
                out.stop = walk_stop::bad_frame;
            return out;
        }
        const std::size_t header_size = is_long ? 9 : 2;
        if (rest.size() < header_size) {
            if (is_command)
                out.stop = walk_stop::command;
            return out;
        }
        std::uint64_t size = 0;
        for (std::size_t i = 1; i < header_size; ++i)
            size = size << 8 | rest[i];
        out.next.flags = static_cast<std::uint8_t>(flags);
        out.next.header_size = static_cast<std::uint8_t>(header_size);
        out.next.body_size = size;
        walk_stop judged = is_command ? walk_stop::command : walk_stop::need_more;
        if (size > (is_command ? limits.max_command : limits.max_body))
            judged = walk_stop::too_big;
        if (size > INT64_MAX)
            judged = walk_stop::bad_frame;
        if (!at_limit || judged == walk_stop::command)
            out.stop = judged;
        if (out.stop != walk_stop::need_more || rest.size() - header_size < size)
            return out;
        out.octets += header_size + size;
        in_message = flags & 1;
        if (!in_message) {
            ++out.messages;
            out.message_octets = out.octets;
        }
    }
}

void expect_same(const walk_result &a, const walk_result &b) {
    EXPECT_EQ(a.octets, b.octets);
    EXPECT_EQ(a.message_octets, b.message_octets);
    EXPECT_EQ(a.messages, b.messages);
    EXPECT_EQ(a.stop, b.stop);
    EXPECT_EQ(a.next.header_size, b.next.header_size);
    EXPECT_EQ(a.next.body_size, b.next.body_size);
    EXPECT_EQ(a.next.flags, b.next.flags);
}

walk_result walk(const octets &in, const walk_limits &limits = {}) {
    bool in_message = false;
    return walk_frames(as_bytes(in), in_message, limits);
}

TEST(frame_walk, agrees_with_a_naive_parser_on_random_streams) {
    std::mt19937 random(7);
    for (int round = 0; round < 20000; ++round) {
        octets in;
        const unsigned frames = random() % 12;
        const bool runs = random() % 2;
        octets body(random() % 300, 'x');
        for (unsigned i = 0; i < frames; ++i) {
            if (!runs)
                body.resize(random() % 8 ? random() % 20 : random() % 600, 'y');
            in += random() % 10 ? testing::frame(body, random() % 4 == 0) : command_frame("PING", body);
        }
        if (random() % 3 == 0 && !in.empty())
            in[random() % in.size()] = static_cast<char>(random());
        in.resize(in.size() - (in.empty() ? 0 : random() % std::min<std::size_t>(in.size(), 12)));
        walk_limits limits;
        if (random() % 2)
            limits.max_body = random() % 400;
        if (random() % 2)
            limits.max_messages = random() % 10;
        if (random() % 4 == 0)
            limits.max_command = random() % 300;
        bool in_message = random() % 2, naive_in_message = in_message;
        expect_same(walk_frames(as_bytes(in), in_message, limits),
                    naive_walk(as_bytes(in), naive_in_message, limits));
        EXPECT_EQ(in_message, naive_in_message);
        if (HasFailure())
            FAIL() << "round " << round;
    }
}

TEST(frame_walk, agrees_with_a_naive_parser_on_random_octets) {
    std::mt19937 random(8);
    for (int round = 0; round < 100000; ++round) {
        octets in(random() % 40, '\0');
        for (char &c : in)
            c = static_cast<char>(random() % 3 ? random() % 8 : random());
        bool in_message = false, naive_in_message = false;
        expect_same(walk_frames(as_bytes(in), in_message, {}),
                    naive_walk(as_bytes(in), naive_in_message, {}));
        EXPECT_EQ(in_message, naive_in_message);
        if (HasFailure())
            FAIL() << "round " << round;
    }
}

TEST(frame_walk, finds_the_same_messages_however_the_stream_is_cut) {
    const octets all = part("a") + part(octets(300, 'b')) + message("c") + message("") +
                       message(octets(255, 'd')) + part("") + message(octets(256, 'e')) + message("f") +
                       message("f");
    for (std::size_t size = 1; size <= all.size(); ++size) {
        octets input;
        std::uint32_t messages = 0;
        bool in_message = false;
        for (std::size_t at = 0; at < all.size(); at += size) {
            input += all.substr(at, size);
            const walk_result walked = walk_frames(as_bytes(input), in_message, {});
            EXPECT_EQ(walked.stop, walk_stop::need_more);
            messages += walked.messages;
            input.erase(0, walked.octets);
        }
        EXPECT_EQ(messages, 6u);
        EXPECT_TRUE(input.empty());
        EXPECT_FALSE(in_message);
    }
}

TEST(frame_walk, refuses_reserved_flags_and_more_on_a_command_at_the_first_octet) {
    for (int flags = 0; flags < 256; ++flags) {
        const bool is_good = flags <= 4 || flags == 6;
        for (const octets &in :
             {octets(1, static_cast<char>(flags)), octets(1, static_cast<char>(flags)) + octets(20, '\0')}) {
            const walk_stop stop = walk(in).stop;
            EXPECT_EQ(stop == walk_stop::bad_frame, !is_good) << flags;
        }
    }
}

TEST(frame_walk, accepts_a_long_header_for_a_short_body) {
    const walk_result walked = walk(octets("\2\0\0\0\0\0\0\0\1x", 10));
    EXPECT_EQ(walked.messages, 1u);
    EXPECT_EQ(walked.octets, 10u);
}

TEST(frame_walk, survives_every_size_near_a_power_of_two) {
    for (int bit = 0; bit <= 64; ++bit)
        for (int delta = -64; delta <= 64; ++delta) {
            const std::uint64_t size =
                (bit == 64 ? 0 : std::uint64_t(1) << bit) + static_cast<std::uint64_t>(delta);
            octets in(9 + 100, '\0');
            in[0] = 2;
            put_u64(reinterpret_cast<std::uint8_t *>(in.data()) + 1, size);
            bool in_message = false;
            const walk_result walked = walk_frames(as_bytes(in), in_message, {});
            EXPECT_EQ(walked.stop, size > INT64_MAX ? walk_stop::bad_frame : walk_stop::need_more);
            EXPECT_EQ(walked.next.body_size, size > 100 ? size : 0);
            EXPECT_EQ(walked.octets > 0, size <= 100);
        }
}

TEST(frame_walk, applies_the_size_limit_on_the_header) {
    walk_limits limits;
    limits.max_body = 300;
    for (const std::size_t size : {299, 300, 301}) {
        const octets header = message(octets(size, 'x')).substr(0, 9);
        const walk_result walked = walk(header, limits);
        EXPECT_EQ(walked.stop, size > 300 ? walk_stop::too_big : walk_stop::need_more);
        EXPECT_EQ(walked.next.body_size, size);
    }
    limits.max_body = 3;
    EXPECT_EQ(walk(message("abc") + message("abcd"), limits).stop, walk_stop::too_big);
    EXPECT_EQ(walk(message("abc") + message("abcd"), limits).messages, 1u);
    limits.max_body = 0;
    EXPECT_EQ(walk(message("") + message(""), limits).messages, 2u);
}

TEST(frame_walk, limits_commands_by_their_own_limit) {
    walk_limits limits;
    limits.max_body = 3;
    EXPECT_EQ(walk(octets("\6\0\0\0\0\0\1\0\0", 9), limits).stop, walk_stop::command);  // 65536
    EXPECT_EQ(walk(octets("\6\0\0\0\0\0\1\0\1", 9), limits).stop, walk_stop::too_big);  // 65537
}

TEST(frame_walk, stops_in_front_of_a_command_even_if_it_is_not_all_there) {
    const octets first = message("one");
    for (std::size_t shown = 1; shown <= 7; ++shown) {
        const walk_result walked = walk(first + testing::ping(1).substr(0, shown));
        EXPECT_EQ(walked.stop, walk_stop::command);
        EXPECT_EQ(walked.octets, first.size());
        EXPECT_EQ(walked.next.header_size, shown >= 2 ? 2 : 0);
        EXPECT_EQ(walked.next.body_size, shown >= 2 ? 7u : 0u);
    }
}

TEST(frame_walk, keeps_a_message_open_across_a_command) {
    bool in_message = false;
    walk_result walked = walk_frames(as_bytes(part("a") + command_frame("PING", "xx")), in_message, {});
    EXPECT_EQ(walked.stop, walk_stop::command);
    EXPECT_TRUE(in_message);
    EXPECT_EQ(walked.messages, 0u);
    EXPECT_EQ(walked.message_octets, 0u);
    walked = walk_frames(as_bytes(message("b")), in_message, {});
    EXPECT_FALSE(in_message);
    EXPECT_EQ(walked.messages, 1u);
}

TEST(frame_walk, stops_at_the_message_limit_between_messages_only) {
    walk_limits limits;
    limits.max_messages = 2;
    const octets two = part("a") + message("b") + message("c");
    walk_result walked = walk(two + part("d") + message("e"), limits);
    EXPECT_EQ(walked.stop, walk_stop::message_limit);
    EXPECT_EQ(walked.octets, two.size());
    EXPECT_EQ(walked.message_octets, two.size());
    EXPECT_EQ(walk(two, limits).stop, walk_stop::message_limit);
    EXPECT_EQ(walk(two + command_frame("PING", "xx"), limits).stop, walk_stop::command);
    limits.max_messages = 0;
    EXPECT_EQ(walk(two, limits).octets, 0u);
    EXPECT_EQ(walk(two, limits).stop, walk_stop::message_limit);
}

}  // namespace
}  // namespace zlink
