// The framing of WebSocket: what goes out.
#include "zmtp/framing_zws.hpp"

#include <gtest/gtest.h>

#include <set>

#include "zws_octets.hpp"

namespace zlink {
namespace {

using namespace testing;

octets encoded(const framing &by, std::string_view body, int flags = 0) {
    std::vector<std::uint8_t> out;
    by.encode(static_cast<std::uint8_t>(flags), as_bytes(body), out);
    return text(out);
}

TEST(framing_zws, puts_each_frame_into_one_binary_message_behind_an_octet_that_says_what_it_is) {
    const framing_zws server(of_server);
    EXPECT_EQ(encoded(server, "hello"), octets("\x82\6\0hello", 8));
    EXPECT_EQ(encoded(server, "hello", 1), "\x82\6\1hello");
    EXPECT_EQ(encoded(server, ""), octets("\x82\1\0", 3));
    EXPECT_EQ(encoded(server, octets(124, 'x')), octets("\x82\x7d\0", 3) + octets(124, 'x'));
    EXPECT_EQ(encoded(server, octets(125, 'x')), octets("\x82\x7e\0\x7e\0", 5) + octets(125, 'x'));
    EXPECT_EQ(encoded(server, octets(65534, 'x')), octets("\x82\x7e\xff\xff\0", 5) + octets(65534, 'x'));
    EXPECT_EQ(encoded(server, octets(65535, 'x')),
              octets("\x82\x7f\0\0\0\0\0\1\0\0\0", 11) + octets(65535, 'x'));
    std::vector<std::uint8_t> out;
    server.encode_command(as_bytes("\5READY"), out);
    EXPECT_EQ(text(out), "\x82\7\2\5READY");
}

TEST(framing_zws, tells_subscriptions_as_messages) {
    const framing_zws server(of_server);
    std::vector<std::uint8_t> out;
    server.encode_subscription(true, as_bytes("topic"), out);
    server.encode_subscription(false, as_bytes(""), out);
    EXPECT_EQ(text(out), octets("\x82\7\0\1topic\x82\2\0\0", 13));
    const framing_zws raw(of_raw_server);
    out.clear();
    raw.encode_subscription(true, as_bytes("topic"), out);
    EXPECT_TRUE(out.empty());
}

TEST(framing_zws, leaves_the_octet_out_where_the_peer_does_not_speak_zmtp) {
    const framing_zws raw(of_raw_server);
    EXPECT_EQ(encoded(raw, "hello", 1), "\x82\5hello");
    EXPECT_EQ(encoded(raw, ""), octets("\x82\0", 2));
}

TEST(framing_zws, masks_bodies_of_every_size_where_this_side_is_the_client) {
    const framing_zws client(of_client);
    const framing_zws server(of_server);
    for (const std::size_t size :
         {0,  1,  2,   3,   4,   5,    7,    8,    9,    15,    16,    17,    63,
          64, 65, 124, 125, 126, 1000, 8191, 8192, 8193, 65534, 65535, 65536, 1 << 20}) {
        const octets body = some_octets(size);
        const octets wire = encoded(client, body, 1);
        EXPECT_EQ(unmasked(wire), encoded(server, body, 1)) << size;
        EXPECT_EQ(decoded(of_server, wire), frame(body, 1)) << size;
    }
}

TEST(framing_zws, masks_at_every_place_in_memory_and_in_front_of_itself) {
    const octets source = some_octets(400);
    const mask_key key{0x12, 0x34, 0x56, 0x78};
    for (std::size_t from = 0; from < 9; ++from)
        for (std::size_t size = 0; size < 300; size += size < 140 ? 1 : 7)
            for (const std::size_t back : {std::size_t{0}, std::size_t{1}, from}) {
                if (back > from)
                    continue;
                octets memory = source;
                auto *const at = reinterpret_cast<std::uint8_t *>(memory.data()) + from;
                mask_octets(at - back, at, size, key);
                octets expected = source;
                for (std::size_t i = 0; i < size; ++i)
                    expected[from - back + i] = static_cast<char>(source[from + i] ^ key[i % 4]);
                EXPECT_EQ(memory, expected) << from << ' ' << size << ' ' << back;
            }
}

TEST(framing_zws, encodes_small_frames_together_as_one_by_one) {
    constexpr std::size_t most = 300;
    std::vector<octets> queue;
    for (std::size_t size = 0; size <= most; ++size)
        queue.push_back(frame(some_octets(size), size % 3 == 0));
    for (const zws_form &how : {of_client, of_server})
        for (const std::size_t room : {100u, 150u, 400u, 10'000u, 60'000u})
            for (std::size_t first = 0; first < queue.size(); first += 29) {
                SCOPED_TRACE(::testing::Message() << how.is_client << ' ' << room << ' ' << first);
                octets all;
                for (std::size_t i = first; i < queue.size(); ++i)
                    all += queue[i];
                // Both in memory of their own, without an octet more.
                const std::vector<std::uint8_t> in(all.begin(), all.end());
                std::vector<std::uint8_t> out(room);
                byte_span left(in);
                bool in_message = false;
                std::uint64_t messages = 0;
                out.resize(framing_zws(how).encode_small(left, most, out, in_message, messages));
                octets expected;
                std::uint64_t ended = 0;
                bool is_inside = false;
                for (std::size_t i = first; expected.size() < in.size() - left.size(); ++i) {
                    expected += queue[i];
                    is_inside = i % 3 == 0;
                    ended += !is_inside;
                }
                EXPECT_TRUE(decoded(how.is_client ? of_server : of_client, text(out)) == expected);
                EXPECT_EQ(messages, ended);
                EXPECT_EQ(in_message, is_inside);
                frame_header next;
                const bool is_left = get_frame_header(left.data(), left.size(), next);
                EXPECT_TRUE(!is_left || out.size() + next.body_size + 15 > room) << "there was room";
            }
}

TEST(framing_zws, knows_how_much_a_small_frame_grows) {
    for (const zws_form &how : {of_client, of_server}) {
        const framing_zws form(how);
        const octets in = frame(octets(64, 'x'));
        byte_span left = as_bytes(in);
        bool in_message = false;
        std::uint64_t messages = 0;
        std::vector<std::uint8_t> out(200);
        EXPECT_EQ(form.encode_small(left, 100, out, in_message, messages),
                  in.size() + form.growth_of_small());
    }
}

TEST(framing_zws, leaves_what_is_large_or_a_command_or_not_whole) {
    const framing_zws client(of_client);
    for (const octets &next :
         {frame("\5READY", 4), frame(octets(101, 'x')), frame(octets(301, 'x')), octets("\0\x64", 2)}) {
        const octets in = frame("a", 1) + next + octets(next.size() == 2 ? 99 : 300, 'x');
        byte_span left = as_bytes(in);
        bool in_message = false;
        std::uint64_t messages = 0;
        std::vector<std::uint8_t> out(1000);
        out.resize(client.encode_small(left, 100, out, in_message, messages));
        EXPECT_EQ(decoded(of_server, text(out)), frame("a", 1));
        EXPECT_TRUE(in_message);
        EXPECT_EQ(messages, 0u);
        EXPECT_EQ(left.size(), in.size() - 3);
    }
}

TEST(framing_zws, draws_a_key_for_each_frame_that_nobody_can_foretell) {
    const framing_zws client(of_client);
    constexpr std::size_t count = 1'000'000;
    std::array<std::array<std::uint32_t, 256>, 4> seen{};
    std::set<std::string> first_keys;
    std::vector<std::uint8_t> out;
    for (std::size_t i = 0; i < count; ++i) {
        out.clear();
        client.encode(0, {}, out);
        ASSERT_EQ(out.size(), 7u);
        for (std::size_t octet = 0; octet < 4; ++octet)
            ++seen[octet][out[2 + octet]];
        if (i < 1000)
            first_keys.insert(text(out).substr(2, 4));
    }
    EXPECT_GT(first_keys.size(), 995u);
    // Chi-square of 255 degrees of freedom: above 380 by chance once in ten million.
    for (const auto &octet : seen) {
        const double expected = count / 256.0;
        double sum = 0;
        for (const std::uint32_t times : octet)
            sum += (times - expected) * (times - expected) / expected;
        EXPECT_LT(sum, 380);
        EXPECT_GT(sum, 150);
    }
    const framing_zws other(of_client);
    EXPECT_NE(encoded(client, "x"), encoded(other, "x"));
}

}  // namespace
}  // namespace zlink
