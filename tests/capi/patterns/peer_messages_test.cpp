// ZMQ_HELLO_MSG, ZMQ_DISCONNECT_MSG, ZMQ_HICCUP_MSG: messages about a peer's coming and going; and
// what ends with a disconnect.
#define ZMQ_BUILD_DRAFT_API
#include "eventually.hpp"
#include "raw_peer.hpp"

#include <gtest/gtest.h>
#include <string>

namespace {

using namespace zlink::test;
using namespace std::string_literals;

/// The next message's last frame: a ROUTER puts an id before it.
std::string receive_body(zmq_socket_of &socket) {
    std::string frame = socket.receive();
    for (int more = 1; more && frame != "<none>";) {
        std::size_t size = sizeof more;
        if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            break;
        if (more)
            frame = socket.receive();
    }
    return frame;
}

class hello_msg : public testing::TestWithParam<const char *> {};

TEST_P(hello_msg, is_the_first_message_of_either_side) {
    const zmq_context context;
    zmq_socket_of router(context, ZMQ_ROUTER), dealer(context, ZMQ_DEALER);
    ASSERT_EQ(router.set(ZMQ_HELLO_MSG, "from the router"), 0);
    ASSERT_EQ(dealer.set(ZMQ_HELLO_MSG, "from the dealer"), 0);
    const std::string endpoint = router.bind(GetParam());
    ASSERT_TRUE(dealer.connect(endpoint));
    ASSERT_TRUE(dealer.send("second"));
    EXPECT_EQ(receive_body(router), "from the dealer");
    EXPECT_EQ(receive_body(router), "second");
    EXPECT_EQ(dealer.receive(), "from the router");
}

TEST_P(hello_msg, waits_for_who_binds_later) {
    const zmq_context context;
    zmq_socket_of first(context, ZMQ_PAIR), second(context, ZMQ_PAIR);
    // The directory of ipc://* goes with the socket.
    const std::string wanted = GetParam();
    const std::string endpoint =
        first.bind(wanted == "ipc://*" ? "ipc://@hello-msg-" + std::to_string(::getpid()) : wanted);
    first.close();
    ASSERT_EQ(second.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(second.set(ZMQ_HELLO_MSG, "hello"), 0);
    ASSERT_TRUE(second.connect(endpoint));
    zmq_socket_of third(context, ZMQ_PAIR);
    while (third.bind(endpoint).empty())
        ASSERT_EQ(zmq_errno(), EADDRINUSE);  // until the first has left
    EXPECT_EQ(third.receive(), "hello");
}

INSTANTIATE_TEST_SUITE_P(transports, hello_msg,
                         testing::Values("tcp://127.0.0.1:*", "ipc://*", "inproc://hello-msg"));

TEST(hello_msg_of_a_connection, is_sent_to_each) {
    const zmq_context context;
    raw_listener listener;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    ASSERT_EQ(dealer.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(dealer.set(ZMQ_HELLO_MSG, std::string(300, 'h')), 0);
    ASSERT_TRUE(dealer.connect(listener.endpoint()));
    for (int i = 0; i < 3; ++i) {
        raw_peer peer = listener.accept();
        ASSERT_TRUE(peer.shake_hands("ROUTER"));
        EXPECT_EQ(peer.receive_frame().second, std::string(300, 'h'));
    }
}

TEST(disconnect_msg, is_received_when_a_peer_has_gone_behind_what_it_sent) {
    const zmq_context context;
    zmq_socket_of router(context, ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_DISCONNECT_MSG, "gone"), 0);
    ASSERT_EQ(router.set(ZMQ_HICCUP_MSG, "hiccup"), 0);
    raw_peer peer(router.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(peer.send(greeting() +
                          command("READY", property("Socket-Type", "DEALER") + property("Identity", "me")) +
                          message("last words")));
    peer.close();
    for (const char *expected : {"last words", "gone"}) {
        EXPECT_EQ(router.receive(), "me");
        EXPECT_EQ(router.receive(), expected);
    }
}

TEST(disconnect_msg, is_received_when_nobody_is_connected_to_any_more) {
    const zmq_context context;
    raw_listener listener;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    ASSERT_EQ(dealer.set(ZMQ_RECONNECT_IVL, -1), 0);
    ASSERT_EQ(dealer.set(ZMQ_DISCONNECT_MSG, "gone"), 0);
    ASSERT_EQ(dealer.set(ZMQ_HICCUP_MSG, "hiccup"), 0);
    ASSERT_TRUE(dealer.connect(listener.endpoint()));
    ASSERT_TRUE(listener.accept().shake_hands("ROUTER"));
    EXPECT_EQ(dealer.receive(), "gone");
}

TEST(hiccup_msg, is_received_when_a_peer_has_gone_that_is_connected_to_again) {
    const zmq_context context;
    raw_listener listener;
    zmq_socket_of dealer(context, ZMQ_DEALER);
    ASSERT_EQ(dealer.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(dealer.set(ZMQ_DISCONNECT_MSG, "gone"), 0);
    ASSERT_EQ(dealer.set(ZMQ_HICCUP_MSG, "hiccup"), 0);
    ASSERT_TRUE(dealer.connect(listener.endpoint()));
    ASSERT_TRUE(listener.accept().shake_hands("ROUTER"));
    EXPECT_EQ(dealer.receive(), "hiccup");
    raw_peer again = listener.accept();
    ASSERT_TRUE(again.shake_hands("ROUTER"));
    ASSERT_TRUE(again.send(message("here again")));
    EXPECT_EQ(dealer.receive(), "here again");
}

TEST(messages_about_a_peer, are_for_types_that_take_any_message_at_any_time) {
    const zmq_context context;
    for (const int option : {ZMQ_HELLO_MSG, ZMQ_DISCONNECT_MSG, ZMQ_HICCUP_MSG}) {
        for (const int type : {ZMQ_PAIR, ZMQ_DEALER, ZMQ_ROUTER})
            EXPECT_EQ(zmq_socket_of(context, type).set(option, "m"), 0) << type;
        for (const int type : {ZMQ_REQ, ZMQ_REP, ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_XSUB, ZMQ_PUSH, ZMQ_PULL}) {
            EXPECT_EQ(zmq_socket_of(context, type).set(option, "m"), -1) << type;
            EXPECT_EQ(zmq_errno(), EINVAL);
        }
    }
}

// ---- ZMQ_RECONNECT_STOP ----

TEST(reconnect_stop, after_a_disconnect_gives_up_what_was_not_sent) {
    auto *const context = zmq_ctx_new();
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_LINGER, -1), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_STOP, ZMQ_RECONNECT_STOP_AFTER_DISCONNECT), 0);
    const std::string endpoint = raw_listener().endpoint();  // nobody listens there any more
    ASSERT_TRUE(push.connect(endpoint));
    ASSERT_TRUE(push.send("for nobody"));
    ASSERT_EQ(zmq_disconnect(push, endpoint.c_str()), 0);
    push.close();
    EXPECT_EQ(zmq_ctx_term(context), 0) << "does not wait for somebody to listen";
}

TEST(reconnect_stop, after_a_disconnect_still_sends_to_a_peer_that_is_there) {
    const zmq_context context;
    raw_listener listener;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_LINGER, -1), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_STOP, ZMQ_RECONNECT_STOP_AFTER_DISCONNECT), 0);
    ASSERT_TRUE(push.connect(listener.endpoint()));
    raw_peer peer = listener.accept();
    ASSERT_TRUE(peer.shake_hands("PULL"));
    ASSERT_TRUE(push.send("for the peer"));
    ASSERT_EQ(zmq_disconnect(push, listener.endpoint().c_str()), 0);
    EXPECT_EQ(peer.receive_frame().second, "for the peer");
}

/// A connection that is given up takes its queue with it: without a mark nothing else makes a send
/// fail.
void expect_given_up(zmq_socket_of &push) {
    EXPECT_TRUE(zlink_test::eventually([&] { return zmq_send(push, "m", 1, ZMQ_DONTWAIT) == -1; }));
    EXPECT_EQ(zmq_errno(), EAGAIN);
}

TEST(reconnect_stop, when_refused_gives_up) {
    const zmq_context context;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_SNDHWM, 0), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_STOP, ZMQ_RECONNECT_STOP_CONN_REFUSED), 0);
    const std::string endpoint = raw_listener().endpoint();
    ASSERT_TRUE(push.connect(endpoint));
    expect_given_up(push);
}

TEST(reconnect_stop, after_a_failed_handshake_gives_up) {
    const zmq_context context;
    raw_listener listener;
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_SNDHWM, 0), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_IVL, 1), 0);
    ASSERT_EQ(push.set(ZMQ_RECONNECT_STOP, ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED), 0);
    ASSERT_TRUE(push.connect(listener.endpoint()));
    ASSERT_TRUE(listener.accept().send("no greeting at all"));
    expect_given_up(push);
}

}  // namespace
