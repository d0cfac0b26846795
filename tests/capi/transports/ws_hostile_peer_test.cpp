// Peers that break the rules of HTTP, WebSocket and ZWS on a socket's port, each beside an honest
// one: it goes on being served.
#include "own_memory.hpp"
#include "sockets.hpp"
#include "web_peer.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::greeting;
using zlink::test::much;
using zlink::test::ready;
using zlink::test::resident;
using zlink::test::upgrade;
using zlink::test::web_close;
using zlink::test::web_frame;
using zlink::test::web_header;
using zlink::test::web_message;
using zlink::test::web_peer;
using zlink::test::web_ready;
namespace opcode = zlink::test::opcode;

class ws_hostile : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(server.set(ZMQ_MAXMSGSIZE,
                             std::string_view(reinterpret_cast<const char *>(&limit), sizeof limit)),
                  0);
        endpoint = server.bind("ws://127.0.0.1:*");
        honest = web_peer(endpoint);
        ASSERT_TRUE(honest.call("DEALER"));
        expect_service();
    }
    void TearDown() override { expect_service(); }
    void expect_service() {
        ASSERT_TRUE(honest.send(web_message("question")));
        const frames message = server.receive_all();
        ASSERT_EQ(message.size(), 2u);
        ASSERT_EQ(message[1], "question");
        ASSERT_TRUE(server.send_all({message[0], "answer"}));
        ASSERT_EQ(honest.receive_web_message(), "answer");
        web_peer another(endpoint);
        ASSERT_TRUE(another.call("DEALER"));
    }
    web_peer caller() {
        web_peer peer(endpoint);
        EXPECT_TRUE(peer.call("DEALER"));
        return peer;
    }
    /// The status that this is answered with.
    int status_of(std::string_view octets) {
        web_peer peer = caller();
        (void)peer.send(octets);
        const int status = peer.receive_close();
        EXPECT_TRUE(peer.is_closed_by_other_side());
        return status;
    }
    /// The status line that this is answered with, or nothing.
    std::string answer_to(std::string_view octets) {
        web_peer peer(endpoint);
        (void)peer.send(octets);
        const std::string head = peer.receive_head();
        EXPECT_TRUE(peer.is_closed_by_other_side());
        return head.substr(0, 12);
    }

    static constexpr std::int64_t limit = 100'000;
    context zmq;
    test_socket server = zmq.socket(ZMQ_ROUTER);
    std::string endpoint;
    web_peer honest;
};

TEST_F(ws_hostile, is_told_what_is_wrong_with_its_request) {
    EXPECT_EQ(answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 426");
    EXPECT_EQ(answer_to("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").substr(0, 10),
              "HTTP/1.1 4");
    EXPECT_EQ(answer_to(upgrade("/elsewhere")), "HTTP/1.1 404");
    EXPECT_EQ(answer_to(upgrade("/", "chat")), "HTTP/1.1 400");
}

TEST_F(ws_hostile, that_speaks_something_else_is_sent_away) {
    (void)answer_to(greeting() + ready("DEALER"));
    // The beginning of a ClientHello.
    (void)answer_to(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(600, 'x'));
    (void)answer_to(std::string(10'000, '\0'));
    (void)answer_to("SSH-2.0-OpenSSH_9.2\r\n\r\n");
}

TEST_F(ws_hostile, is_sent_away_with_a_head_that_is_too_long) {
    const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
    (void)answer_to(start + "X: " + std::string(1 << 20, 'x') + "\r\n\r\n");
    std::string many = start;
    for (int i = 0; i < 10'000; ++i)
        many += "X" + std::to_string(i) + ": y\r\n";
    (void)answer_to(many + "\r\n");
    (void)answer_to(upgrade("/", "ZWS2.0/NULL", [] {
        std::string extensions = "Sec-WebSocket-Extensions: a";
        for (int i = 0; i < 100'000; ++i)
            extensions += ", permessage-deflate";
        return extensions + "\r\n";
    }()));
    // One that never ends: much more than is read on behind the answer, and than the systems of
    // both sides hold.
    web_peer endless(endpoint);
    bool is_taken = endless.send(start);
    for (int i = 0; i < 100'000 && is_taken; ++i)
        is_taken = endless.send(std::string(1'000, 'x'));
    EXPECT_FALSE(is_taken);
}

TEST_F(ws_hostile, may_offer_a_thousand_extensions_that_it_does_not_get) {
    std::string extensions = "Sec-WebSocket-Extensions: e0";
    for (int i = 1; i < 1'000; ++i)
        extensions += ",e" + std::to_string(i);
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.send(upgrade("/", "ZWS2.0/NULL", extensions + "\r\n")));
    const std::string head = peer.receive_head();
    EXPECT_EQ(head.find("Extensions"), std::string::npos) << head;
}

TEST_F(ws_hostile, may_repeat_the_header_with_its_protocols) {
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.send(upgrade(
        "/", "chat", "Sec-WebSocket-Protocol: ZWS2.0/PLAIN\r\nsec-websocket-protocol: , ZWS2.0/NULL\r\n")));
    const std::string head = peer.receive_head();
    EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
    EXPECT_NE(head.find("Sec-WebSocket-Protocol: ZWS2.0/NULL\r\n"), std::string::npos) << head;
}

TEST_F(ws_hostile, is_told_which_rule_it_has_broken) {
    EXPECT_EQ(status_of(web_frame(opcode::text, "hello")), 1003);
    EXPECT_EQ(status_of(web_message("hello", false)), 1002) << "not masked";
    EXPECT_EQ(status_of(web_frame(opcode::continuation, "x")), 1002);
    EXPECT_EQ(status_of(web_frame(3, "x")), 1002);
    EXPECT_EQ(status_of(web_frame(opcode::binary | 0x40, std::string("\0x", 2))), 1002) << "a reserved bit";
    EXPECT_EQ(status_of(web_frame(opcode::binary, "")), 1002) << "no flags";
    EXPECT_EQ(status_of(web_frame(opcode::binary, "\7x")), 1002) << "flags that there are not";
    EXPECT_EQ(status_of(web_frame(opcode::ping, std::string(126, 'x'))), 1002);
    EXPECT_EQ(status_of(web_frame(opcode::ping, "x", true, false)), 1002);
    EXPECT_EQ(status_of(web_frame(opcode::close, "x")), 1002);
    EXPECT_EQ(status_of(web_close(1005)), 1002);
    EXPECT_EQ(status_of(web_frame(opcode::close, "\x03\xe8\xff\xfe")), 1007);
}

TEST_F(ws_hostile, is_stopped_at_the_header_of_a_message_beyond_the_limit) {
    EXPECT_EQ(status_of(web_header(opcode::binary, limit + 2, true) + "k3y!"), 1009);
    EXPECT_EQ(status_of(web_header(opcode::binary, std::uint64_t{1} << 62, true) + "k3y!"), 1009);
    const std::string largest(limit, 'x');
    web_peer peer = caller();
    ASSERT_TRUE(peer.send(web_message(largest)));
    EXPECT_EQ(server.receive_all().at(1), largest);
}

TEST_F(ws_hostile, is_stopped_when_its_fragments_do_not_end) {
    web_peer peer = caller();
    bool is_taken = peer.send(web_frame(opcode::binary, std::string(1, '\0'), true, false));
    for (int i = 0; i < 10'000 && is_taken; ++i)
        is_taken = peer.send(web_frame(opcode::continuation, std::string(1'000, 'x'), true, false));
    EXPECT_FALSE(is_taken) << "ten times the limit";
}

TEST_F(ws_hostile, may_send_fragments_without_octets) {
    web_peer peer = caller();
    ASSERT_TRUE(peer.send(web_frame(opcode::binary, std::string("\0h", 2), true, false)));
    for (int i = 0; i < 1'000; ++i)
        ASSERT_TRUE(
            peer.send(web_frame(opcode::continuation, "", true, false) + web_frame(opcode::pong, "")));
    ASSERT_TRUE(peer.send(web_frame(opcode::continuation, "i")));
    EXPECT_EQ(server.receive_all().at(1), "hi");
}

TEST_F(ws_hostile, gets_no_more_pongs_than_it_reads) {
    web_peer peer = caller();
    std::string pings;
    for (int i = 0; i < 1'000; ++i)
        pings += web_frame(opcode::ping, std::string(125, 'p'));
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(peer.send(pings));
    ASSERT_TRUE(peer.send(web_message("after") + web_frame(opcode::ping, "last")));
    EXPECT_EQ(server.receive_all().at(1), "after");
    for (;;) {
        const auto [kind, payload] = peer.receive_web_frame();
        ASSERT_EQ(kind, opcode::pong);
        if (payload == "last")
            break;
        ASSERT_EQ(payload, std::string(125, 'p'));
    }
}

TEST_F(ws_hostile, loses_only_what_it_has_not_finished) {
    const std::string last = web_message("cut");
    for (std::size_t at = 0; at < last.size(); ++at) {
        web_peer peer = caller();
        ASSERT_TRUE(peer.send(web_message("whole") + last.substr(0, at)));
        peer.close();
        EXPECT_EQ(server.receive_all().at(1), "whole");
    }
    web_peer peer = caller();
    ASSERT_TRUE(peer.send(web_message("whole") + last.substr(0, 5) + web_close(1000)));
    peer.finish_writing();
    EXPECT_EQ(server.receive_all().at(1), "whole");
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_F(ws_hostile, may_be_many_that_do_not_finish_their_handshake) {
    std::vector<web_peer> slow;
    const std::string words = upgrade() + web_ready("DEALER");
    for (std::size_t at = 0; at < words.size(); at += 3) {
        slow.emplace_back(endpoint);
        ASSERT_TRUE(slow.back().send(words.substr(0, at)));
    }
    expect_service();
}

/// Fragments of one message that does not end: much more than anybody should keep.
bool send_fragments_without_end(web_peer &peer) {
    const std::string more = web_frame(opcode::continuation, std::string(1 << 20, 'x'), true, false);
    bool is_taken = true;
    for (int i = 0; i < 96 && is_taken; ++i)
        is_taken = peer.send(more);
    return is_taken;
}
std::string beginning() { return web_frame(opcode::binary, std::string("\0x", 2), true, false); }

TEST(ws_fragments, without_end_take_no_memory_where_nobody_receives) {
    context zmq;
    const std::pair<int, const char *> types[] = {{ZMQ_PUSH, "PULL"}, {ZMQ_PUB, "SUB"}};
    for (const auto &[type, other] : types) {
        SCOPED_TRACE(other);
        test_socket server = zmq.socket(type);
        const std::string endpoint = server.bind("ws://127.0.0.1:*");
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.call(other));
        const long before = resident();
        ASSERT_TRUE(peer.send(beginning()));
        ASSERT_TRUE(send_fragments_without_end(peer));
        ASSERT_TRUE(peer.send(web_frame(opcode::ping, "all read?")));
        EXPECT_EQ(peer.receive_web_frame(), std::pair(opcode::pong, std::string("all read?")));
        EXPECT_LT(resident() - before, much);
        // The message ends, and the connection goes on.
        ASSERT_TRUE(peer.send(web_frame(opcode::continuation, "x") + web_message("\1")));
        EXPECT_TRUE(server.has_room());
        do
            ASSERT_EQ(server.send("hello"), 5);
        while (!peer.has_input(0));
        EXPECT_EQ(peer.receive_web_message(), "hello");
    }
}

TEST(ws_fragments, that_were_kept_are_let_go_when_the_socket_closes_and_what_follows_is_thrown_away) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER);
    server.set(ZMQ_LINGER, -1);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.call("DEALER"));
    // More than the peer's system takes: the connection is there until all of it is read.
    constexpr int messages = 32;
    const std::string large(1 << 20, 'l');
    for (int i = 0; i < messages; ++i)
        ASSERT_TRUE(server.send_all({large}));
    ASSERT_TRUE(peer.send(beginning()));
    const long before = resident();
    server.close();
    ASSERT_TRUE(send_fragments_without_end(peer));
    EXPECT_LT(resident() - before, much);
    for (int i = 0; i < messages; ++i)
        ASSERT_EQ(peer.receive_web_message(), large);
    EXPECT_EQ(peer.receive_close(), 1000);
}

TEST(ws_fragments, of_one_message_are_kept_where_somebody_receives) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.call("PUSH"));
    ASSERT_TRUE(peer.send(beginning()));
    ASSERT_TRUE(send_fragments_without_end(peer));
    ASSERT_TRUE(peer.send(web_frame(opcode::continuation, "y")));
    const std::optional<std::string> whole = server.receive();
    ASSERT_TRUE(whole);
    EXPECT_TRUE(*whole == "x" + std::string(96 << 20, 'x') + "y");
}

TEST(ws_fragments, are_held_back_at_the_mark_like_whole_messages) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_PULL);
    server.set(ZMQ_RCVHWM, 2);
    server.set(ZMQ_RCVBUF, 64 << 10);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    web_peer peer(endpoint);
    ASSERT_TRUE(peer.call("PUSH"));
    const std::string body(1 << 20, 'x');
    constexpr int messages = 64;
    const long before = resident();
    std::thread sender([&] {
        const std::string message = web_frame(opcode::binary, std::string(1, '\0'), true, false) +
                                    web_frame(opcode::continuation, body);
        for (int i = 0; i < messages; ++i)
            EXPECT_TRUE(peer.send(message));
    });
    for (int i = 0; i < messages; ++i) {
        EXPECT_EQ(server.receive(), body);
        EXPECT_LT(resident() - before, much) << i;
    }
    sender.join();
}

// ---- Close ----

/// A peer of a DEALER that has sent more than the peer's system takes.
struct full_stream {
    static constexpr int messages = 32;
    explicit full_stream(test_socket &from) {
        from.set(ZMQ_LINGER, -1);
        peer = web_peer(from.bind("ws://127.0.0.1:*"));
        EXPECT_TRUE(peer.call("DEALER"));
        for (int i = 0; i < messages; ++i)
            EXPECT_TRUE(from.send_all({large}));
    }
    /// Whole messages, and then the status of a Close, behind which nothing comes.
    int status_behind_whole_messages() {
        for (int received = 0;; ++received) {
            const auto [kind, payload] = peer.receive_web_frame();
            if (kind != opcode::binary) {
                EXPECT_EQ(kind, opcode::close) << received;
                EXPECT_TRUE(peer.receive(1).empty());
                return kind == opcode::close && payload.size() == 2
                           ? static_cast<std::uint8_t>(payload[0]) << 8 |
                                 static_cast<std::uint8_t>(payload[1])
                           : 0;
            }
            EXPECT_EQ(payload.size(), 1 + large.size());
        }
    }

    const std::string large = std::string(1 << 20, 'l');
    web_peer peer;
};

TEST(ws_close, is_answered_behind_whole_messages_where_the_stream_is_full) {
    for (const bool is_closed_here : {false, true}) {
        context zmq;
        test_socket server = zmq.socket(ZMQ_DEALER);
        full_stream it(server);
        if (is_closed_here)
            server.close();
        ASSERT_TRUE(it.peer.send(web_close(1001)));
        EXPECT_EQ(it.status_behind_whole_messages(), 1001);
        server.set(ZMQ_LINGER, 0);
    }
}

TEST(ws_close, of_a_peer_that_does_not_read_ends_the_connection_all_the_same) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_DEALER);
    monitor events(zmq, server, ZMQ_EVENT_DISCONNECTED);
    full_stream it(server);
    ASSERT_TRUE(it.peer.send(web_close(1000)));
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    server.set(ZMQ_LINGER, 0);
}

TEST(ws_close, that_is_not_answered_keeps_no_context_from_ending) {
    web_peer silent;
    {
        context zmq;
        test_socket server = zmq.socket(ZMQ_DEALER);
        server.set(ZMQ_LINGER, -1);
        silent = web_peer(server.bind("ws://127.0.0.1:*"));
        ASSERT_TRUE(silent.call("DEALER"));
        ASSERT_TRUE(server.send_all({"last"}));
        server.close();
        EXPECT_EQ(zmq.term(), 0);
    }
    EXPECT_EQ(silent.receive_web_message(), "last");
    EXPECT_EQ(silent.receive_close(), 1000);
    EXPECT_TRUE(silent.is_closed_by_other_side());
}

TEST(ws_handshake, is_bounded_in_time) {
    context zmq;
    test_socket server = zmq.socket(ZMQ_ROUTER);
    server.set(ZMQ_HANDSHAKE_IVL, 50);
    const std::string endpoint = server.bind("ws://127.0.0.1:*");
    for (const std::string &words : {std::string(), std::string("GET / HTTP/1.1\r\nHost"), upgrade(),
                                     upgrade() + web_ready("DEALER").substr(0, 9)}) {
        web_peer peer(endpoint);
        ASSERT_TRUE(peer.send(words));
        EXPECT_TRUE(peer.is_closed_by_other_side());
    }
}

TEST(ws_handshake, checks_the_types_of_both_sides) {
    context zmq;
    const std::pair<int, std::vector<const char *>> known[] = {{ZMQ_XPUB, {"SUB", "XSUB"}},
                                                               {ZMQ_XSUB, {"PUB", "XPUB"}},
                                                               {ZMQ_REP, {"REQ", "DEALER"}},
                                                               {ZMQ_PULL, {"PUSH"}}};
    for (const auto &[type, peers] : known) {
        test_socket server = zmq.socket(type);
        const std::string endpoint = server.bind("ws://127.0.0.1:*");
        for (const char *peer : peers)
            EXPECT_TRUE(web_peer(endpoint).call(peer)) << type << " " << peer;
        web_peer other(endpoint);
        ASSERT_TRUE(other.send(upgrade() + web_ready("PAIR")));
        EXPECT_TRUE(other.is_closed_by_other_side()) << type;
    }
}

}  // namespace
