// Reconnection: peers that come back, and what is sent to them again without the program's help.
#define ZMQ_BUILD_DRAFT_API
#include "sockets.hpp"

#include <memory>

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

// A ROUTER that connects, and the peers that are bound where it does, one after the other.
class reconnecting_router : public ::testing::TestWithParam<const char *> {
protected:
    void connect() {
        router.set(ZMQ_RECONNECT_IVL, 10);
        router.set(ZMQ_ROUTER_MANDATORY, 1);
        router.connect(endpoint);
    }
    // A peer that says so of itself; empty: nothing.
    std::unique_ptr<test_socket> peer(const std::string &name) {
        auto made = std::make_unique<test_socket>(zmq.socket(ZMQ_DEALER));
        if (!name.empty())
            made->set(ZMQ_ROUTING_ID, name);
        EXPECT_TRUE(eventually([&] { return zmq_bind(made->handle(), endpoint.c_str()) == 0; }));
        made->send("from " + name);
        return made;
    }
    // By which name the router knows it.
    std::string name_of(test_socket &peer, const std::string &said) {
        const frames found = router.receive_all();
        if (found.size() != 2 || found[1] != "from " + said)
            return "nobody";
        EXPECT_TRUE(router.send_all({found[0], "to " + said}));
        EXPECT_EQ(peer.receive(), "to " + said);
        return found[0];
    }
    std::string name_of_next(const std::string &name) { return name_of(*peer(name), name); }
    void expect_unknown(const std::string &name) {
        EXPECT_FAILS(EHOSTUNREACH, router.send(name, ZMQ_SNDMORE));
    }

    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    const std::string endpoint = lasting_endpoint(GetParam());
};

TEST_P(reconnecting_router, calls_each_peer_by_the_name_that_it_says) {
    connect();
    for (const char *name : {"one", "two", "a name that is longer than others", "one"}) {
        EXPECT_EQ(name_of_next(name), name);
        expect_unknown(std::string(name) == "one" ? "two" : "one");
    }
}

TEST_P(reconnecting_router, makes_a_name_for_a_peer_that_has_none_and_keeps_it_for_the_next) {
    connect();
    EXPECT_EQ(name_of_next("one"), "one");
    const std::string made = name_of_next("");
    EXPECT_EQ(made.size(), 5u);
    EXPECT_EQ(made[0], 0);
    EXPECT_EQ(name_of_next(""), made);
    expect_unknown("one");
    EXPECT_EQ(name_of_next("two"), "two");
    expect_unknown(made);
}

TEST_P(reconnecting_router, calls_a_peer_as_its_application_has_chosen_whatever_that_says) {
    router.set(ZMQ_CONNECT_ROUTING_ID, "chosen");
    connect();
    for (const char *name : {"one", "two", "", "three"})
        EXPECT_EQ(name_of_next(name), "chosen");
}

TEST_P(reconnecting_router, gives_no_name_to_two_peers) {
    connect();
    test_socket other = zmq.socket(ZMQ_DEALER);
    other.set(ZMQ_ROUTING_ID, "two");
    router.connect(other.bind(scratch_endpoint(GetParam())));
    other.send("from two");
    EXPECT_EQ(name_of(other, "two"), "two");
    EXPECT_EQ(name_of_next("one"), "one");
    const std::string made = name_of_next("two");
    EXPECT_EQ(made.size(), 5u);
    ASSERT_TRUE(router.send_all({"two", "for the first"}));
    EXPECT_EQ(other.receive(), "for the first");
    EXPECT_EQ(name_of_next("three"), "three");
}

TEST_P(reconnecting_router, tells_who_has_come_by_the_name_of_each) {
    router.set(ZMQ_ROUTER_NOTIFY, 3);
    connect();
    for (const char *name : {"one", "two"}) {
        std::unique_ptr<test_socket> made = peer(name);
        std::vector<frames> found{router.receive_all(), router.receive_all()};
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, (std::vector<frames>{{name, ""}, {name, "from " + std::string(name)}}));
        made.reset();
        EXPECT_EQ(router.receive_all(), (frames{name, ""}));
    }
}

INSTANTIATE_TEST_SUITE_P(transports, reconnecting_router, ::testing::Values("tcp", "ipc"));
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
