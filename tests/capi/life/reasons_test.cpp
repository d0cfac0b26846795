// The words that a monitor with ZMQ_EVENT_REASONS hears of handshakes and connections that fail.
#define ZMQ_BUILD_DRAFT_API
#include <optional>

#include "raw_peer.hpp"
#include "refusals.hpp"
#include "sockets.hpp"

namespace {

using namespace zlink_test;
namespace raw = zlink::test;

class a_reason : public ::testing::Test {
protected:
    /// Returns what the one that listens hears of a peer.
    std::string heard_by_listener(int value) { return reason_for(*events, value, endpoint); }
    void make(int type) {
        events.reset();
        own = zmq.socket(type);
    }
    void listen() {
        events.emplace(zmq, own, everything);
        endpoint = own.bind("tcp://127.0.0.1:*");
    }
    void expect_handshake_failure(int kind) {
        EXPECT_EQ(events->next().event, kind);
        EXPECT_EQ(events->next().event, ZMQ_EVENT_DISCONNECTED);
    }

    context zmq;
    test_socket own;
    std::string endpoint;
    std::optional<monitor> events;
};

TEST_F(a_reason, names_the_two_types_that_do_not_fit_and_that_there_is_no_further_attempt) {
    struct {
        int own, other;
        const char *words;
    } const pairs[] = {
        {ZMQ_PUSH, ZMQ_SUB, "the peer is a SUB, which does not talk to a PUSH"},
        {ZMQ_REQ, ZMQ_XPUB, "the peer is an XPUB, which does not talk to a REQ"},
    };
    for (const auto &each : pairs) {
        make(each.own);
        test_socket other = zmq.socket(each.other);
        listen();
        monitor of_other(zmq, other, everything);
        other.connect(endpoint);
        EXPECT_EQ(heard_by_listener(EPROTO), each.words);
        expect_handshake_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
        const std::string words = reason_for(of_other, EPROTO, endpoint);
        EXPECT_NE(words.find("which does not talk to a"), std::string::npos) << words;
        EXPECT_TRUE(words.ends_with("; no further attempt")) << words;
    }
}

TEST_F(a_reason, does_not_repeat_what_a_peer_calls_itself) {
    make(ZMQ_PULL);
    listen();
    raw::raw_peer peer(endpoint);
    ASSERT_TRUE(peer.send(raw::greeting() + raw::ready("\x1b[2J")));
    EXPECT_EQ(heard_by_listener(EPROTO),
              "the peer is of an unknown socket type, which does not talk to a PULL");
}

TEST_F(a_reason, names_the_mechanisms_that_differ) {
    make(ZMQ_PULL);
    listen();
    raw::raw_peer peer(endpoint);
    ASSERT_TRUE(peer.send(raw::greeting("CURVE")));
    EXPECT_EQ(heard_by_listener(0),
              "this side is set up for the security mechanism NULL, and the peer for CURVE");
    expect_handshake_failure(ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL);
    raw::raw_peer stranger(endpoint);
    ASSERT_TRUE(stranger.send(raw::greeting("\x1b[2J")));
    EXPECT_EQ(heard_by_listener(0),
              "this side is set up for the security mechanism NULL, and the peer for another one");
}

TEST_F(a_reason, has_what_the_peer_says_in_its_ERROR) {
    make(ZMQ_PULL);
    listen();
    raw::raw_peer peer(endpoint);
    ASSERT_TRUE(peer.send(raw::greeting() + raw::command("ERROR", "\x07"
                                                                  "go-away")));
    EXPECT_EQ(heard_by_listener(0), "the peer refuses the connection: go-away");
    raw::raw_peer asked(endpoint);
    ASSERT_TRUE(asked.send(raw::greeting() + raw::command("ERROR", "\x03"
                                                                   "400")));
    EXPECT_EQ(heard_by_listener(0), "the peer refuses the connection: 400");
}

TEST_F(a_reason, tells_what_was_wrong_with_what_the_peer_sent) {
    make(ZMQ_PULL);
    listen();
    raw::raw_peer first(endpoint);
    ASSERT_TRUE(first.send(raw::greeting() + raw::message("too early")));
    EXPECT_EQ(heard_by_listener(EPROTO),
              "the peer sent a message or a command where none of its kind may come");
    raw::raw_peer second(endpoint);
    ASSERT_TRUE(second.send(raw::greeting() + raw::command("READY", "\x05"
                                                                    "x")));
    EXPECT_EQ(heard_by_listener(EPROTO), "the peer described itself against the rules");
    raw::raw_peer third(endpoint);
    ASSERT_TRUE(third.send(raw::greeting() + raw::ready("PUSH") + raw::frame(0x40, "reserved")));
    EXPECT_EQ(heard_by_listener(EPROTO), "the peer broke the rules of the protocol");
    EXPECT_EQ(events->next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST_F(a_reason, tells_of_a_message_that_is_too_large) {
    make(ZMQ_PULL);
    test_socket peer = zmq.socket(ZMQ_PUSH);
    const std::int64_t most = 10;
    ASSERT_EQ(zmq_setsockopt(own.handle(), ZMQ_MAXMSGSIZE, &most, sizeof most), 0);
    listen();
    peer.connect(endpoint);
    peer.send("more than ten octets");
    EXPECT_EQ(heard_by_listener(EMSGSIZE),
              "the peer sent a message, or the parts of one, larger than ZMQ_MAXMSGSIZE allows");
    EXPECT_EQ(events->next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST_F(a_reason, tells_of_a_peer_that_is_silent) {
    make(ZMQ_PULL);
    ASSERT_EQ(own.set(ZMQ_HEARTBEAT_IVL, 10), 0);
    ASSERT_EQ(own.set(ZMQ_HEARTBEAT_TIMEOUT, 10), 0);
    listen();
    raw::raw_peer peer(endpoint);
    ASSERT_TRUE(peer.send(raw::greeting() + raw::ready("PUSH")));
    EXPECT_EQ(heard_by_listener(0), "nothing was heard of the peer within ZMQ_HEARTBEAT_TIMEOUT");
    EXPECT_EQ(events->next().event, ZMQ_EVENT_DISCONNECTED);
}

TEST_F(a_reason, names_the_filter_that_keeps_a_peer_out) {
    make(ZMQ_PULL);
    ASSERT_EQ(own.set(ZMQ_TCP_ACCEPT_FILTER, std::string("10.0.0.1")), 0);
    listen();
    raw::raw_peer peer(endpoint);
    EXPECT_EQ(heard_by_listener(ECONNREFUSED), "ZMQ_TCP_ACCEPT_FILTER keeps out 127.0.0.1");
    EXPECT_EQ(events->next().event, ZMQ_EVENT_ACCEPT_FAILED);
}

TEST_F(a_reason, is_not_given_where_a_peer_just_goes) {
    make(ZMQ_PULL);
    listen();
    raw::raw_peer peer(endpoint);
    ASSERT_TRUE(peer.send(raw::greeting() + raw::ready("PUSH")));
    EXPECT_EQ(events->next(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    peer.close();
    EXPECT_EQ(events->next().event, ZMQ_EVENT_DISCONNECTED);
}

}  // namespace
