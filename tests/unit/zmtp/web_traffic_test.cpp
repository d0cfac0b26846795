// Conversations over WebSocket behind the handshake: control frames, heartbeats, and the ways they
// end.
#include <gtest/gtest.h>

#include "web_script.hpp"
#include "zmtp/web_close.hpp"
#include "zmtp/web_conversation.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using log_of = std::vector<std::string>;

// ---- traffic ----

TEST(web_conversation, pings_are_answered_with_their_own_octets) {
    for (std::size_t size = 0; size <= 125; ++size) {
        server_in_traffic server;
        server.feed(web_frame(0x89, octets(size, 'p'), a_mask));
        EXPECT_EQ(server.take_written(), web_frame(0x8a, octets(size, 'p')));
        client_in_traffic client;
        client.feed(web_frame(0x89, octets(size, 'p')));
        EXPECT_EQ(unmasked(client.take_written()), web_frame(0x8a, octets(size, 'p')));
        EXPECT_FALSE(client.is_closed());
    }
}

TEST(web_conversation, pongs_that_nobody_asked_for_mean_nothing) {
    server_in_traffic server;
    server.feed(web_frame(0x8a, "unasked", a_mask) + web_frame(0x8a, "", a_mask) + masked_zws(0, "x"));
    EXPECT_EQ(server.take_written(), "");
    EXPECT_EQ(server.log().back(), "message x");
}

TEST(web_conversation, flood_of_pings_is_answered_with_what_there_is_room_for_and_the_latest_at_last) {
    server_in_traffic server;
    server.block_writing();
    octets some;
    for (int i = 0; i < 1000; ++i)
        some += web_frame(0x89, octets(125, static_cast<char>('a' + i % 26)), a_mask);
    for (int i = 0; i < 1000; ++i)
        server.feed(some);
    EXPECT_EQ(server.machine().output().size(), 127u);
    server.feed(web_frame(0x89, "latest", a_mask));
    // The stream takes more at last, and no more comes in.
    server.machine().output().clear();
    EXPECT_LE(server.machine().deadline(), conversation::time_point(1h) + 100ms);
    server.pass(100ms);
    EXPECT_EQ(text(server.machine().output()), web_frame(0x8a, "latest"));
    server.machine().output().clear();
    EXPECT_EQ(server.machine().deadline(), conversation::time_point::max());
}

TEST(web_conversation, commands_of_zmtp_are_answered_as_bounded_as_pings) {
    server_in_traffic server;
    const octets ping = masked_zws(2, octets("\4PING\0\0context", 14));
    server.feed(ping);
    EXPECT_EQ(server.take_written(), zws(2, "\4PONGcontext"));
    server.block_writing();
    for (int i = 0; i < 1000; ++i)
        server.feed(ping);
    EXPECT_LE(server.machine().output().size(), 100u);
    server.machine().output().clear();
    server.pass(100ms);
    const octets owed = text(server.machine().output()), one = zws(2, "\4PONGcontext");
    EXPECT_GT(owed.size(), 50 * one.size());
    EXPECT_LT(owed.size(), 5000u);
    EXPECT_EQ(owed.substr(0, one.size()), one);
}

/// The octets of a Ping of this side's.
octets number(std::uint8_t which) { return octets(3, '\0') + static_cast<char>(which); }

TEST(web_conversation, heartbeats_are_pings) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    options.heartbeat_timeout_ms = 1000;
    for (const octets &protocol : {octets("ZWS2.0/NULL"), octets("ZWS2.0")}) {
        peer_driver server(options, true, &a_place);
        server.feed(web_request(protocol));
        server.feed(protocol == "ZWS2.0" ? masked_zws(0, "") : masked_zws(2, ready_body("PUSH")));
        EXPECT_EQ(server.log(), log_of{"established"});
        server.take_written();
        server.pass(99ms);
        EXPECT_EQ(server.take_written(), "");
        server.pass(1ms);
        EXPECT_EQ(server.take_written(), web_frame(0x89, number(1)));
        server.feed(web_frame(0x8a, "", a_mask));
        server.pass(100ms);
        EXPECT_EQ(server.take_written(), web_frame(0x89, number(2)));
        server.pass(999ms);
        EXPECT_FALSE(server.is_closed());
        server.take_written();
        server.pass(1ms);
        EXPECT_EQ(server.log().back(), "close peer_dead 0");
        EXPECT_TRUE(server.written().ends_with(web_frame(0x88, close_payload(1011))));
    }
}

TEST(web_conversation, time_of_a_ping_begins_when_it_is_written) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    options.heartbeat_timeout_ms = 300;
    server_in_traffic server(options);
    server.block_writing();
    server.feed(web_frame(0x89, "", a_mask));
    server.pass(100ms);
    EXPECT_EQ(text(server.machine().output()), web_frame(0x8a, "")) << "a PING of its own is owed";
    for (int i = 0; i < 10; ++i) {
        server.pass(299ms);
        server.hold_up();
    }
    server.pass(299ms);
    server.take_written();
    server.go_on_writing();
    EXPECT_EQ(server.take_written(), web_frame(0x8a, "")) << "the one is written, and the other is not";
    server.pass(300ms);
    EXPECT_TRUE(server.take_written().starts_with(web_frame(0x89, number(1))));
    ASSERT_FALSE(server.is_closed());
    server.pass(100ms);
    EXPECT_EQ(server.log().back(), "close peer_dead 0");
}

TEST(web_conversation, heartbeats_do_not_heap_up_where_nothing_is_written) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    options.heartbeat_timeout_ms = 0;
    server_in_traffic server(options);
    server.block_writing();
    server.pass(1min);
    EXPECT_EQ(server.machine().output().size(), 6u);
}

TEST(web_conversation, time_of_an_answer_to_a_ping_is_told) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    for (const octets &protocol : {octets("ZWS2.0/NULL"), octets("ZWS2.0")}) {
        peer_driver server(options, true, &a_place);
        server.feed(web_request(protocol));
        server.feed(protocol == "ZWS2.0" ? masked_zws(0, "") : masked_zws(2, ready_body("PUSH")));
        server.take_written();
        server.feed(web_frame(0x8a, number(1), a_mask));
        server.pass(100ms);
        EXPECT_EQ(server.take_written(), web_frame(0x89, number(1)));
        server.feed(web_frame(0x8a, "none", a_mask) + web_frame(0x8a, number(0), a_mask));
        server.pass(7ms);
        EXPECT_EQ(server.machine().answers().count, 0u);
        server.feed(web_frame(0x8a, number(1), a_mask) + web_frame(0x8a, number(1), a_mask));
        EXPECT_EQ(server.machine().answers().count, 1u) << protocol;
        EXPECT_EQ(server.machine().answers().last, 7ms) << protocol;
        server.feed(web_frame(0x8a, number(1), a_mask));
        EXPECT_EQ(server.machine().answers().count, 1u) << protocol;
    }
}

// ---- the ends ----

/// It is told of a Close that is more than a leave.
const std::string closed_by_peer = "close peer_closed 0";

TEST(web_conversation, close_is_answered_with_its_status) {
    for (const octets &payload :
         {octets(), close_payload(1000), close_payload(1001, "reason"), close_payload(4999, octets(123, 'r')),
          close_payload(3000, "\xe2\x82\xac")}) {
        server_in_traffic server;
        server.feed(masked_zws(0, "x") + web_frame(0x88, payload, a_mask) + masked_zws(0, "behind"));
        const bool is_leave = payload.size() < 2 || payload[0] == 3;
        EXPECT_EQ(server.log(), (log_of{"established", "message x", is_leave ? ended : closed_by_peer}));
        EXPECT_EQ(server.machine().reason().empty(), is_leave);
        EXPECT_EQ(server.take_written(), web_frame(0x88, payload.substr(0, 2)));
        EXPECT_EQ(server.machine().deadline(), conversation::time_point::max());
    }
}

TEST(web_conversation, close_with_a_status_that_cannot_be_is_a_fault) {
    std::vector<int> bad{0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 5001, 10000, 65535};
    for (int status = 100; status < 1000; status += 53)
        bad.push_back(status);
    EXPECT_GE(bad.size(), 30u);
    for (const int status : bad) {
        server_in_traffic server;
        server.feed(web_frame(0x88, close_payload(status), a_mask));
        EXPECT_EQ(server.log().back(), websocket_fault) << status;
        EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1002))) << status;
    }
    for (const int status :
         {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999}) {
        server_in_traffic server;
        server.feed(web_frame(0x88, close_payload(status), a_mask));
        EXPECT_EQ(server.log().back(), status < 1002 ? ended : closed_by_peer) << status;
    }
}

TEST(web_conversation, close_of_one_octet_is_a_fault) {
    server_in_traffic server;
    server.feed(web_frame(0x88, "x", a_mask));
    EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1002)));
    const octets good = close_payload(1000);
    EXPECT_EQ(judge_close(as_bytes(good).first(1)), web_status::protocol_error);
    EXPECT_EQ(judge_close(as_bytes(good)), 0);
}

TEST(web_conversation, close_with_a_reason_that_is_no_text_is_invalid_data) {
    for (const octets &reason :
         {octets("\xff"), octets("\xc3"), octets("a\xe2\x82"), octets("\xc0\x80"), octets("\xc1\xbf"),
          octets("\xe0\x80\xaf"), octets("\xf0\x80\x80\xaf"), octets("\xed\xa0\x80"),
          octets("\xf4\x90\x80\x80"), octets("\xf5\x80\x80\x80"), octets("\x80"), octets("\xe2\x28\xa1"),
          octets("\xf8\x88\x80\x80\x80")}) {
        server_in_traffic server;
        server.feed(web_frame(0x88, close_payload(1000, reason), a_mask));
        EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1007)));
        EXPECT_EQ(server.log().back(), websocket_fault);
    }
    for (const octets &reason : {octets("\x7f"), octets("\xc2\x80"), octets("\xdf\xbf"),
                                 octets("\xe0\xa0\x80"), octets("\xed\x9f\xbf"), octets("\xee\x80\x80"),
                                 octets("\xf0\x90\x80\x80"), octets("\xf4\x8f\xbf\xbf")}) {
        server_in_traffic server;
        server.feed(web_frame(0x88, close_payload(1000, reason), a_mask));
        EXPECT_EQ(server.log().back(), ended);
    }
}

TEST(web_conversation, faults_are_told_with_the_status_that_says_which) {
    settings small = socket_of(socket_type::pull);
    small.max_message_size = 100;
    const std::pair<octets, int> faults[] = {
        {zws(0, "not masked"), 1002},
        {web_frame(0x81, "text", a_mask), 1003},
        {web_frame(0x83, "reserved", a_mask), 1002},
        {web_frame(0xc2, "reserved", a_mask), 1002},
        {web_frame(0x80, "nothing before", a_mask), 1002},
        {web_frame(0x09, "a ping in fragments", a_mask), 1002},
        {masked_zws(3, "flags"), 1002},
        {web_frame(0x82, "", a_mask), 1002},
        {masked_zws(0, octets(101, 'x')), 1009},
        {masked_zws(2, ""), 1002},
        {masked_zws(2, "\5READY"), 1002},
        {masked_zws(2, octets("\0\x08", 2)), 1002},
    };
    for (const auto &[wire, status] : faults) {
        server_in_traffic server(small);
        server.feed(masked_zws(0, octets(100, 'x')) + wire + masked_zws(0, "behind"));
        ASSERT_EQ(server.log().size(), 3u);
        EXPECT_EQ(server.log()[1], "message " + octets(100, 'x'));
        EXPECT_EQ(server.log()[2].substr(0, 14), "close protocol");
        EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(status)));
    }
    client_in_traffic client;
    client.feed(masked_zws(0, "masked"));
    EXPECT_EQ(unmasked(client.take_written()), web_frame(0x88, close_payload(1002)));
}

TEST(web_conversation, limit_of_messages_is_one_of_their_bodies_for_those_without_frames_too) {
    settings small = socket_of(socket_type::stream);
    small.max_message_size = 100;
    for (const std::size_t size : {99, 100, 101}) {
        peer_driver server(small, true, &a_place);
        server.feed(web_request("") + web_frame(0x82, octets(size, 'x'), a_mask));
        EXPECT_EQ(server.is_closed(), size > 100);
    }
}

TEST(web_conversation, who_parts_says_so_and_hears_the_rest) {
    server_in_traffic server;
    server.machine().say_last_words();
    server.machine().say_last_words();
    EXPECT_EQ(text(server.machine().output()), web_frame(0x88, close_payload(1000)));
    server.feed(web_frame(0x89, "p", a_mask) + masked_zws(0, "on its way"));
    EXPECT_EQ(server.log().back(), "message on its way");
    server.feed(web_frame(0x88, close_payload(1000), a_mask));
    EXPECT_EQ(server.log().back(), ended);
    EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1000)));
}

TEST(web_conversation, who_parts_says_nothing_more_whatever_comes) {
    settings options = socket_of(socket_type::pull);
    options.heartbeat_interval_ms = 100;
    options.heartbeat_timeout_ms = 300;
    for (const octets &last : {octets(), web_frame(0x88, close_payload(5), a_mask), masked_zws(9, "")}) {
        server_in_traffic server(options);
        server.machine().say_last_words();
        server.feed(last);
        server.pass(1s);
        EXPECT_TRUE(server.is_closed());
        EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1000)));
    }
}

TEST(web_conversation, nothing_is_said_at_parting_before_there_is_a_websocket) {
    peer_driver server(socket_of(socket_type::pull), true, &a_place);
    server.machine().say_last_words();
    EXPECT_TRUE(server.machine().output().empty());
    server.feed(web_request());
    server.take_written();
    server.machine().say_last_words();
    EXPECT_EQ(text(server.machine().output()), web_frame(0x88, close_payload(1000)));
    server.feed(masked_zws(2, ready_body("SUB")));  // an ERROR would follow
    EXPECT_EQ(server.take_written(), web_frame(0x88, close_payload(1000)));
    const settings pull = socket_of(socket_type::pull);
    const auto other = make_conversation(pull, true);
    (void)other->resume({conversation::event_kind::start});
    const std::size_t said = other->output().size();
    other->say_last_words();
    EXPECT_EQ(other->output().size(), said);
}

}  // namespace
}  // namespace zlink
