// Reconnection: peers that come back, and what is sent to them again without the program's help.
#include "sockets.hpp"

namespace {

using namespace zlink_test;

class reconnect : public ::testing::TestWithParam<const char *> {};

TEST_P(reconnect, a_sender_finds_its_receiver_again) {
    context zmq;
    const std::string endpoint = lasting_endpoint(GetParam());
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    push.set(ZMQ_IMMEDIATE, 1);  // so that nothing is queued for a receiver that has gone
    monitor watch(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    push.connect(endpoint);
    for (int life = 0; life < 3; ++life) {
        context receiving;
        test_socket pull = receiving.socket(ZMQ_PULL);
        pull.bind(endpoint);
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        push.get(ZMQ_EVENTS);  // takes notice that the old connection has gone
        for (int i = 0; i < 100; ++i) {
            ASSERT_NE(push.send(std::to_string(i)), -1);
            ASSERT_EQ(pull.receive(), std::to_string(i));
        }
    }
}

TEST_P(reconnect, a_subscriber_subscribes_again) {
    context zmq;
    const std::string endpoint = lasting_endpoint(GetParam());
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_RECONNECT_IVL, 10);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.connect(endpoint);
    for (int life = 0; life < 3; ++life) {
        context publishing;
        test_socket pub = publishing.socket(ZMQ_XPUB);
        pub.bind(endpoint);
        // libzmq renews its subscriptions during a call on the subscriber.
        ASSERT_TRUE(eventually([&] {
            sub.get(ZMQ_EVENTS);
            return pub.receive(ZMQ_DONTWAIT) == "\1a";
        }));
        pub.send("abc");
        EXPECT_EQ(sub.receive(), "abc");
        pub.close();
    }
}

TEST_P(reconnect, a_dealer_keeps_its_id) {
    context zmq;
    const std::string endpoint = lasting_endpoint(GetParam());
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_RECONNECT_IVL, 10);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    dealer.set(ZMQ_IMMEDIATE, 1);  // so that nothing is queued for a router that has gone
    monitor watch(zmq, dealer, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    dealer.connect(endpoint);
    for (int life = 0; life < 3; ++life) {
        context routing;
        test_socket router = routing.socket(ZMQ_ROUTER);
        router.bind(endpoint);
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        dealer.get(ZMQ_EVENTS);
        ASSERT_EQ(dealer.send("here"), 4);
        EXPECT_EQ(router.receive_all(), (frames{"alice", "here"}));
        ASSERT_TRUE(router.send_all({"alice", std::to_string(life)}));
        EXPECT_EQ(dealer.receive(), std::to_string(life));
    }
}

INSTANTIATE_TEST_SUITE_P(transports, reconnect, ::testing::Values("tcp", "ipc"));

TEST(reconnect_ivl, minus_one_gives_up_after_a_break) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, -1);
    connected(zmq, bound, peer, "tcp");
    monitor watch(zmq, peer);
    bound.close();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    peer.close();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_MONITOR_STOPPED);
}

TEST(reconnect_ivl, grows_up_to_its_maximum) {
    context zmq;
    test_socket peer = zmq.socket(ZMQ_DEALER);
    peer.set(ZMQ_RECONNECT_IVL, 10);
    peer.set(ZMQ_RECONNECT_IVL_MAX, 40);
    monitor watch(zmq, peer, ZMQ_EVENT_CONNECT_RETRIED);
    peer.connect(deserted_endpoint());
    int before = 0;
    for (int i = 0; i < 6; ++i) {
        const monitor_event found = watch.next();
        ASSERT_EQ(found.event, ZMQ_EVENT_CONNECT_RETRIED);
        EXPECT_GE(found.value, before > 20 ? 20 : before);
        EXPECT_LE(found.value, 40 + 10);
        before = found.value;
    }
    EXPECT_GE(before, 20);
}

TEST(reconnect_ivl, is_checked) {
    context zmq;
    test_socket peer = zmq.socket(ZMQ_DEALER);
    EXPECT_EQ(peer.get(ZMQ_RECONNECT_IVL), 100);
    EXPECT_EQ(peer.get(ZMQ_RECONNECT_IVL_MAX), 0);
    EXPECT_FAILS(EINVAL, peer.set(ZMQ_RECONNECT_IVL, -2));
    EXPECT_FAILS(EINVAL, peer.set(ZMQ_RECONNECT_IVL_MAX, -1));
}

TEST(disconnect, ends_reconnecting) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = connected(zmq, bound, push, "tcp");
    push.send("x");
    ASSERT_EQ(bound.receive(), "x");
    EXPECT_EQ(push.disconnect(endpoint), 0);
    EXPECT_TRUE(eventually([&] { return push.send("x", ZMQ_DONTWAIT) == -1; }));
    EXPECT_FAILS(ENOENT, push.disconnect(endpoint));
    push.connect(endpoint);
    EXPECT_EQ(push.send("again"), 5);
    frames seen;
    while (seen.empty() || (seen.back() != "again"))
        seen.push_back(bound.receive().value_or("again"));
}

}  // namespace
