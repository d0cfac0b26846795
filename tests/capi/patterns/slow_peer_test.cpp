// A monitor is told of a peer that takes too little: once, until it is well again; and how many
// such peers there are stands in the numbers.
#include <thread>

#include "sockets.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;

zlink_stats_t numbers_of(const test_socket &socket) {
    zlink_stats_t stats;
    EXPECT_EQ(zlink_stats(socket.handle(), &stats, sizeof stats), 0);
    return stats;
}

// Sends to a peer whose mark is 10 until messages are lost.
void fill(test_socket &pub, const std::string &body) {
    const std::uint64_t before = numbers_of(pub).dropped_hwm;
    ASSERT_TRUE(eventually([&] {
        EXPECT_NE(pub.send(body), -1);
        return numbers_of(pub).dropped_hwm > before + 20;
    }));
}

class slow_peer_over : public ::testing::TestWithParam<std::string> {
protected:
    slow_peer_over() {
        pub.set(ZMQ_SNDHWM, 10);
        sub.set(ZMQ_RCVHWM, 10);
        sub.set(ZMQ_SUBSCRIBE, "");
    }
    void connect() {
        endpoint = pub.bind(scratch_endpoint(GetParam()));
        sub.connect(endpoint);
        ASSERT_EQ(zlink_wait_ready(pub.handle(), ZLINK_READY_SUBSCRIBERS, 1, patience_ms), 0);
    }
    // Sends until nobody takes anything any more, the system included.
    void stall() {
        std::uint64_t sent = 0;
        int rounds = 0;
        ASSERT_TRUE(eventually([&] {
            fill(pub, body);
            rounds = std::exchange(sent, numbers_of(pub).messages_sent) == sent ? rounds + 1 : 0;
            return rounds == 20;
        }));
    }
    bool is_inproc() const { return GetParam() == "inproc"; }
    // Receives all that there is, until the publisher's queue is empty.
    void catch_up() {
        EXPECT_TRUE(eventually([&] {
            while (sub.receive(ZMQ_DONTWAIT)) {
            }
            EXPECT_NE(pub.send("to be received"), -1);
            return numbers_of(pub).queued_out <= 1;
        }));
    }

    context zmq;
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    std::string endpoint;
    const std::string body = std::string(100'000, 'x');
};
INSTANTIATE_TEST_SUITE_P(transports, slow_peer_over, ::testing::ValuesIn(built_transports()), transport_name);

TEST_P(slow_peer_over, is_told_of_once_until_it_has_caught_up) {
    monitor events(zmq, pub, ZLINK_EVENT_SLOW_PEERS);
    connect();
    stall();
    const monitor_event first = events.next();
    ASSERT_EQ(first.event, ZLINK_EVENT_SLOW_PEER);
    EXPECT_EQ(first.endpoint, endpoint);
    EXPECT_EQ(first.address == endpoint, is_inproc()) << first.address;
    EXPECT_GE(first.value, 1);
    int last = first.value;
    while (events.has_input())  // the system took some meanwhile
        last = events.next().value;
    fill(pub, body);
    EXPECT_FALSE(events.has_input()) << "it was told, and the peer is as it was";
    catch_up();
    fill(pub, body);
    const monitor_event second = events.next();
    EXPECT_EQ(second.event, ZLINK_EVENT_SLOW_PEER);
    EXPECT_GT(second.value, last + 20);
}

TEST_P(slow_peer_over, is_told_of_to_each_monitor_that_begins) {
    {
        monitor first(zmq, pub, ZLINK_EVENT_SLOW_PEERS);
        connect();
        stall();
        EXPECT_EQ(first.next().event, ZLINK_EVENT_SLOW_PEER);
    }
    monitor second(zmq, pub, ZLINK_EVENT_SLOW_PEERS);
    fill(pub, body);
    EXPECT_EQ(second.next().event, ZLINK_EVENT_SLOW_PEER) << "it is slow yet";
}

TEST_P(slow_peer_over, is_counted_while_its_queue_is_full) {
    connect();
    EXPECT_EQ(numbers_of(pub).slow_peers, 0u);
    fill(pub, body);
    EXPECT_EQ(numbers_of(pub).slow_peers, 1u);
    EXPECT_EQ(numbers_of(sub).slow_peers, 0u);
    catch_up();
    EXPECT_EQ(numbers_of(pub).slow_peers, 0u);
}

TEST_P(slow_peer_over, is_not_told_of_to_who_asks_for_everything_of_libzmq) {
    monitor events(zmq, pub, ZMQ_EVENT_ALL), all(zmq, sub, -1);
    connect();
    fill(pub, body);
    pub.close();
    for (int event = -1; event != ZMQ_EVENT_MONITOR_STOPPED && event != 0;) {
        event = events.next().event;
        EXPECT_NE(event, ZLINK_EVENT_SLOW_PEER);
    }
}

/// A ROUTER with a peer of that name, and room for two messages on each side.
class slow_worker : public ::testing::Test {
protected:
    slow_worker() {
        router.set(ZMQ_SNDHWM, 2);
        dealer.set(ZMQ_RCVHWM, 2);
        dealer.set(ZMQ_ROUTING_ID, "worker");
    }

    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
};

TEST_F(slow_worker, is_named_where_a_router_has_no_room_for_it) {
    monitor events(zmq, router, ZLINK_EVENT_SLOW_PEERS);
    dealer.connect(router.bind("tcp://127.0.0.1:*"));
    ASSERT_EQ(zlink_wait_ready(router.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    const std::string body(1'000'000, 'x');
    ASSERT_TRUE(eventually([&] {
        EXPECT_TRUE(router.send_all({"worker", body}));
        return numbers_of(router).dropped_hwm > 0;
    }));
    const monitor_event found = events.next();
    EXPECT_EQ(found.event, ZLINK_EVENT_SLOW_PEER);
    EXPECT_EQ(found.routing_id, "worker");
    EXPECT_EQ(found.address.substr(0, 16), "tcp://127.0.0.1:");
    EXPECT_EQ(found.value, 1);
}

TEST_F(slow_worker, is_named_over_inproc_too) {
    monitor events(zmq, router, ZLINK_EVENT_SLOW_PEERS);
    dealer.connect(router.bind(scratch_endpoint("inproc")));
    for (int i = 0; i < 6; ++i)
        EXPECT_TRUE(router.send_all({"worker", "task"}));
    const monitor_event found = events.next();
    EXPECT_EQ(found.event, ZLINK_EVENT_SLOW_PEER);
    EXPECT_EQ(found.routing_id, "worker");
    EXPECT_FALSE(events.has_input());
}

TEST_F(slow_worker, has_two_values_in_the_second_version) {
    test_socket events = zmq.socket(ZMQ_PAIR);
    ASSERT_EQ(
        zmq_socket_monitor_versioned(router.handle(), "inproc://slow", ZLINK_EVENT_SLOW_PEERS, 2, ZMQ_PAIR),
        0);
    events.connect("inproc://slow");
    dealer.connect(router.bind(scratch_endpoint("inproc")));
    for (int i = 0; i < 6; ++i)
        EXPECT_TRUE(router.send_all({"worker", "task"}));
    const frames found = events.receive_all();
    const auto number = [&](std::size_t at) {
        std::uint64_t value = 0;
        std::memcpy(&value, found.at(at).data(), sizeof value);
        return value;
    };
    ASSERT_EQ(found.size(), 8u);
    EXPECT_EQ(number(0), std::uint64_t{ZLINK_EVENT_SLOW_PEER});
    EXPECT_EQ(number(1), 2u);
    EXPECT_EQ(number(2), 1u) << "lost";
    EXPECT_EQ(number(3), 4u) << "waiting";
    EXPECT_EQ(found[6], "worker");
    EXPECT_EQ(found[7], "");
}

// A PUSH waits for room, and loses nothing.
TEST(slow_peer, is_told_of_when_its_queue_has_been_full_for_as_long_as_was_asked) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    ASSERT_EQ(push.set(ZLINK_SLOW_PEER_AFTER, 20), 0);
    EXPECT_EQ(push.get(ZLINK_SLOW_PEER_AFTER), 20);
    push.set(ZMQ_SNDHWM, 2);
    pull.set(ZMQ_RCVHWM, 2);
    monitor events(zmq, push, ZLINK_EVENT_SLOW_PEERS);
    pull.connect(push.bind("tcp://127.0.0.1:*"));
    ASSERT_EQ(zlink_wait_ready(push.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    const std::string body(1'000'000, 'x');
    push.set(ZMQ_SNDTIMEO, 200);
    while (push.send(body) != -1) {
    }
    // On a busy machine the stream takes some more now and then, and the queue is full once more.
    do {
        const monitor_event found = events.next();
        EXPECT_EQ(found.event, ZLINK_EVENT_SLOW_PEER);
        EXPECT_EQ(found.value, 0) << "nothing is lost";
    } while (events.has_input());
}

TEST(slow_peer, after_a_time_that_is_none_is_refused) {
    context zmq;
    EXPECT_EQ(zmq.socket(ZMQ_PUB).set(ZLINK_SLOW_PEER_AFTER, -1), -1);
}

}  // namespace
