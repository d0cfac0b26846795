// Commands and property lists: what is written, and every way of being malformed.
#include "zmtp/command.hpp"

#include <gtest/gtest.h>

#include "script.hpp"

namespace zlink {
namespace {

using testing::octets;
using testing::property;
using testing::text;

bool parses(const octets &list) {
    property_list out;
    return parse_properties(as_bytes(list), out);
}

TEST(command, is_a_name_and_data) {
    command out;
    ASSERT_TRUE(parse_command(as_bytes("\4PINGxyz"), out));
    EXPECT_EQ(out.name, "PING");
    EXPECT_EQ(as_text(out.data), "xyz");
    ASSERT_TRUE(parse_command(as_bytes("\1A"), out));
    EXPECT_TRUE(out.data.empty());
}

TEST(command, is_refused_without_a_whole_name_of_letters) {
    command out;
    EXPECT_FALSE(parse_command({}, out));
    EXPECT_FALSE(parse_command(as_bytes(octets("\0READY", 6)), out));
    EXPECT_FALSE(parse_command(as_bytes("\5REA"), out));
    EXPECT_FALSE(parse_command(as_bytes(octets("\4PI\0G", 5)), out));
    EXPECT_FALSE(parse_command(as_bytes("\4PI G"), out));
    const octets longest = octets(1, '\xff') + octets(255, 'x');
    EXPECT_TRUE(parse_command(as_bytes(longest), out));
    for (std::size_t cut = 0; cut < longest.size(); ++cut)
        EXPECT_FALSE(parse_command(as_bytes(longest).first(cut), out));
}

TEST(command, ping_needs_its_ttl) {
    ping_body out;
    EXPECT_FALSE(parse_ping({}, out));
    EXPECT_FALSE(parse_ping(as_bytes("\1"), out));
    ASSERT_TRUE(parse_ping(as_bytes("\2\x90"), out));
    EXPECT_EQ(out.ttl, 656);
    EXPECT_TRUE(out.context.empty());
    ASSERT_TRUE(parse_ping(as_bytes("\xff\xff"
                                    "context"),
                           out));
    EXPECT_EQ(out.ttl, 65535);
    EXPECT_EQ(as_text(out.context), "context");
}

TEST(command, error_reason_fills_the_data_exactly) {
    std::string_view reason;
    EXPECT_FALSE(parse_error({}, reason));
    EXPECT_FALSE(parse_error(as_bytes("\4abc"), reason));
    EXPECT_FALSE(parse_error(as_bytes("\2abc"), reason));
    EXPECT_TRUE(parse_error(as_bytes("\3abc"), reason));
    EXPECT_EQ(reason, "abc");
    EXPECT_TRUE(parse_error(as_bytes(octets(1, '\0')), reason));
    EXPECT_EQ(reason, "");
}

TEST(command, is_written_as_a_command_frame_of_the_right_form) {
    for (const std::size_t size : {0, 1, 200, 249, 250, 251, 70000}) {
        std::vector<std::uint8_t> out;
        const octets data(size, 'd');
        append_command(out, "READY", as_bytes(data));
        EXPECT_EQ(text(out), testing::command_frame("READY", data));
    }
    std::vector<std::uint8_t> out;
    append_ping(out, 0x1234, 0x01020304);
    EXPECT_EQ(text(out), octets("\4\13\4PING\x12\x34\1\2\3\4"));
    out.clear();
    append_error(out, "no");
    EXPECT_EQ(text(out), octets("\4\x09\5ERROR\2no"));
}

TEST(command, pong_echoes_at_most_sixteen_octets) {
    const octets context = "0123456789abcdefghij";
    for (std::size_t size = 0; size <= context.size(); ++size) {
        std::vector<std::uint8_t> out;
        append_pong(out, as_bytes(context).first(size));
        EXPECT_EQ(text(out), testing::pong(context.substr(0, std::min<std::size_t>(size, 16))));
    }
}

TEST(property_list, keeps_names_values_and_their_order) {
    const octets list =
        property("B", "two") + property("a", "") + property("X-" + octets(253, 'n'), octets(400, 'v'));
    property_list out;
    ASSERT_TRUE(parse_properties(as_bytes(list), out));
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].first, "B");
    EXPECT_EQ(as_text(out[0].second), "two");
    EXPECT_EQ(out[1].first, "a");
    EXPECT_TRUE(out[1].second.empty());
    EXPECT_EQ(out[2].second.size(), 400u);
    EXPECT_TRUE(parses(""));

    std::vector<std::uint8_t> written;
    for (const auto &[name, value] : out)
        append_property(written, name, value);
    EXPECT_EQ(text(written), list);
}

TEST(property_list, is_refused_when_cut_anywhere_but_between_properties) {
    const octets first = property("Socket-Type", "DEALER");
    const octets list = first + property("Identity", "me");
    for (std::size_t cut = 0; cut <= list.size(); ++cut)
        EXPECT_EQ(parses(list.substr(0, cut)), cut == 0 || cut == first.size() || cut == list.size()) << cut;
    EXPECT_FALSE(parses(list + "x"));
}

TEST(property_list, is_refused_for_bad_names) {
    EXPECT_FALSE(parses(property("", "value")));
    for (int c = 0; c < 256; ++c)
        EXPECT_EQ(parses(property(octets("a") + static_cast<char>(c), "v")), c > 0x20 && c < 0x7f) << c;
}

TEST(property_list, is_refused_for_a_size_beyond_the_end_or_the_limit) {
    for (const std::string_view size : {"\x00\x00\x00\x04", "\x7f\xff\xff\xff", "\x80\x00\x00\x00",
                                        "\x80\x00\x00\x03", "\xff\xff\xff\xff", "\x00\x00\x01\x03"})
        EXPECT_FALSE(parses(octets("\1a") + octets(std::string_view(size.data(), 4)) + "xyz"));
    EXPECT_TRUE(parses(octets("\1a\0\0\0\3xyz", 9)));
}

TEST(property_list, is_refused_when_a_name_occurs_twice_in_any_case) {
    EXPECT_FALSE(parses(property("Identity", "a") + property("X", "b") + property("identitY", "c")));
    EXPECT_FALSE(parses(property("x", "") + property("x", "")));
    EXPECT_TRUE(parses(property("x", "") + property("xx", "") + property("y", "")));
}

TEST(property_list, names_compare_without_case) {
    EXPECT_TRUE(is_same_name("SOCKET-type", "Socket-Type"));
    EXPECT_FALSE(is_same_name("Socket-Type", "Socket-Typ"));
    EXPECT_FALSE(is_same_name("[", "{"));  // 0x20 apart, no letters
}

}  // namespace
}  // namespace zlink
