// A program steers a socket: it waits until peers are ready, or all has gone out, limits what waits
// in octets, and is rid of peers.
#include <thread>

#include "raw_peer.hpp"
#include "sockets.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;

class steering : public ::testing::Test {
protected:
    context zmq;
};

class steering_over : public steering, public ::testing::WithParamInterface<std::string> {
protected:
    std::string place() { return scratch_endpoint(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(transports, steering_over, ::testing::ValuesIn(built_transports()), transport_name);

// ---- zlink_wait_ready ----

int wait_ready(test_socket &of, int what, int n, long milliseconds = patience_ms) {
    return zlink_wait_ready(of.handle(), what, n, milliseconds);
}

TEST_P(steering_over, nobody_sleeps_for_subscribers_that_are_slow_to_join) {
    test_socket pub = zmq.socket(ZMQ_PUB), first = zmq.socket(ZMQ_SUB), second = zmq.socket(ZMQ_SUB);
    const std::string endpoint = pub.bind(place());
    EXPECT_FAILS(EAGAIN, wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1, 0));
    for (test_socket *const sub : {&first, &second}) {
        sub->set(ZMQ_SUBSCRIBE, "a");
        sub->set(ZMQ_SUBSCRIBE, "b");
        sub->connect(endpoint);
    }
    ASSERT_EQ(wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 2), 0) << zmq_strerror(zmq_errno());
    ASSERT_EQ(pub.send("a"), 1);
    EXPECT_EQ(first.receive(), "a");
    EXPECT_EQ(second.receive(), "a");
    EXPECT_FAILS(EAGAIN, wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 3, 0));  // each peer counts once
    second.close();
    EXPECT_TRUE(eventually([&] { return wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 2, 0) != 0; }));
    EXPECT_EQ(wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1, 0), 0);
}

TEST_P(steering_over, a_peer_is_ready_that_a_router_can_address) {
    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    dealer.set(ZMQ_ROUTING_ID, "worker");
    dealer.connect(router.bind(place()));
    ASSERT_EQ(wait_ready(router, ZLINK_READY_PEERS, 1, -1), 0);
    EXPECT_TRUE(router.send_all({"worker", "task"}));
    ASSERT_EQ(wait_ready(dealer, ZLINK_READY_PEERS, 1), 0);
    EXPECT_EQ(dealer.receive(), "task");
    EXPECT_FAILS(EAGAIN, wait_ready(dealer, ZLINK_READY_PEERS, 2, 0));
}

TEST_P(steering_over, who_connects_first_is_ready_once_somebody_is_bound_and_not_when_he_has_gone) {
    const std::string endpoint =
        lasting_endpoint(GetParam() == "tls" || GetParam() == "wss" ? "tcp" : GetParam());
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    push.set(ZMQ_RECONNECT_IVL, 1);
    push.connect(endpoint);
    EXPECT_FAILS(EAGAIN, wait_ready(push, ZLINK_READY_PEERS, 1, 0));
    std::thread later([&] { pull.bind(endpoint); });
    EXPECT_EQ(wait_ready(push, ZLINK_READY_PEERS, 1), 0) << zmq_strerror(zmq_errno());
    later.join();
    pull.close();
    EXPECT_TRUE(eventually([&] { return wait_ready(push, ZLINK_READY_PEERS, 1, 0) != 0; }));
}

TEST_F(steering, a_wait_takes_no_notice_of_an_xpub) {
    test_socket xpub = zmq.socket(ZMQ_XPUB), sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.connect(xpub.bind("tcp://127.0.0.1:*"));
    ASSERT_EQ(wait_ready(xpub, ZLINK_READY_SUBSCRIBERS, 1), 0);
    EXPECT_EQ(xpub.receive(ZMQ_DONTWAIT), "\1a");
}

TEST_F(steering, a_wait_for_peers_ends_with_the_context) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind("tcp://127.0.0.1:*");
    std::thread other([&] { zmq.shutdown(); });
    EXPECT_FAILS(ETERM, wait_ready(pull, ZLINK_READY_PEERS, 1, -1));
    other.join();
}

TEST_F(steering, a_wait_for_peers_says_what_cannot_be_waited_for) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    EXPECT_EQ(wait_ready(pull, ZLINK_READY_PEERS, 0, 0), 0);
    EXPECT_FAILS(EAGAIN, wait_ready(pull, ZLINK_READY_PEERS, 1, 1));
    EXPECT_FAILS(EINVAL, wait_ready(pull, ZLINK_READY_PEERS, -1, 0));
    EXPECT_FAILS(EINVAL, wait_ready(pull, ZLINK_READY_SUBSCRIBERS, 0, 0));
    EXPECT_FAILS(EINVAL, wait_ready(pull, 3, 0, 0));
    EXPECT_FAILS(ENOTSOCK, zlink_wait_ready(nullptr, ZLINK_READY_PEERS, 0, 0));
}

// ---- marks in octets ----

zlink_stats_t stats_of(const test_socket &socket) {
    zlink_stats_t stats;
    EXPECT_EQ(zlink_stats(socket.handle(), &stats, sizeof stats), 0) << zmq_strerror(zmq_errno());
    return stats;
}

void set_octets(test_socket &of, int option, std::uint64_t octets) {
    ASSERT_EQ(zmq_setsockopt(of.handle(), option, &octets, sizeof octets), 0) << zmq_strerror(zmq_errno());
    std::uint64_t read = 0;
    std::size_t size = sizeof read;
    ASSERT_EQ(zmq_getsockopt(of.handle(), option, &read, &size), 0);
    ASSERT_EQ(read, octets);
}

// A PUSH and a PULL over inproc whose marks in messages hold nothing up.
class octet_marks : public steering {
protected:
    octet_marks() {
        for (test_socket *const each : {&push, &pull}) {
            each->set(ZMQ_SNDHWM, 0);
            each->set(ZMQ_RCVHWM, 0);
        }
    }
    void link() {
        push.connect(pull.bind(scratch_endpoint("inproc")));
        pull.has_input(0);  // takes the peer in
    }
    // Sends messages of this many octets, with their headers of two, until there is no room.
    int fill(std::size_t size) {
        const std::string body(size - 2, 'x');
        int sent = 0;
        while (push.send(body, ZMQ_DONTWAIT) != -1)
            ++sent;
        EXPECT_EQ(zmq_errno(), EAGAIN);
        return sent;
    }

    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
};

TEST_F(octet_marks, let_a_message_in_while_less_than_the_mark_waits) {
    set_octets(push, ZLINK_SNDHWM_BYTES, 1000);
    link();
    EXPECT_EQ(fill(100), 10);
    EXPECT_FALSE(push.has_room(0));
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(pull.receive());
    EXPECT_TRUE(push.has_room());
    EXPECT_EQ(fill(100), 3);
    while (pull.receive(ZMQ_DONTWAIT))
        ;
    EXPECT_EQ(fill(3000 - 7), 1) << "one message may be larger than the mark";
}

TEST_F(octet_marks, hold_small_messages_up_that_go_the_short_way) {
    set_octets(push, ZLINK_SNDHWM_BYTES, 100'000);
    link();
    EXPECT_EQ(fill(66), (100'000 + 65) / 66);
    for (int i = 0; i < 1000; ++i)
        ASSERT_TRUE(pull.receive());
    EXPECT_EQ(fill(66), 1000);
}

TEST_F(octet_marks, of_both_sides_add_up_over_inproc_and_stand_beside_those_in_messages) {
    set_octets(push, ZLINK_SNDHWM_BYTES, 1000);
    set_octets(pull, ZLINK_RCVHWM_BYTES, 2000);
    link();
    EXPECT_EQ(fill(100), 30);
    push.set(ZMQ_SNDHWM, 2);
    pull.set(ZMQ_RCVHWM, 3);
    while (pull.receive(ZMQ_DONTWAIT))
        ;
    EXPECT_EQ(fill(100), 5);
}

TEST_F(octet_marks, act_at_once_when_they_are_set_and_taken_back) {
    link();
    ASSERT_EQ(push.send(std::string(98, 'x')), 98);
    set_octets(push, ZLINK_SNDHWM_BYTES, 200);
    EXPECT_EQ(fill(100), 1);
    set_octets(push, ZLINK_SNDHWM_BYTES, 0);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(push.send("more", ZMQ_DONTWAIT), 4);
}

TEST_F(octet_marks, count_a_message_of_many_parts_as_a_whole) {
    set_octets(push, ZLINK_SNDHWM_BYTES, 100);
    link();
    const frames large(10, std::string(98, 'p'));
    EXPECT_TRUE(push.send_all(large, ZMQ_DONTWAIT));
    EXPECT_FALSE(push.send_all(large, ZMQ_DONTWAIT));
    EXPECT_EQ(pull.receive_all().size(), 10u);
    EXPECT_TRUE(push.send_all(large));
}

TEST_F(steering, a_publisher_drops_for_a_subscriber_that_is_full_by_octets) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    set_octets(pub, ZLINK_SNDHWM_BYTES, 1000);
    sub.set(ZMQ_SUBSCRIBE, "");
    sub.connect(pub.bind(scratch_endpoint("inproc")));
    ASSERT_EQ(wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1), 0);
    for (int i = 0; i < 50; ++i)
        ASSERT_EQ(pub.send(std::string(98, 'x')), 98);
    EXPECT_EQ(stats_of(pub).dropped_hwm, 40u);
}

TEST_P(steering_over, senders_blocked_by_octets_go_on_as_octets_leave_and_nothing_waits_beyond_the_marks) {
    constexpr std::uint64_t mark = 100'000;
    constexpr int count = 2000;
    const std::string body(9000, 'b');
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    for (test_socket *const each : {&push, &pull}) {
        set_octets(*each, ZLINK_SNDHWM_BYTES, mark);
        set_octets(*each, ZLINK_RCVHWM_BYTES, mark);
        each->set(ZMQ_SNDBUF, 65536);
        each->set(ZMQ_RCVBUF, 65536);
    }
    push.connect(pull.bind(place()));
    ASSERT_EQ(wait_ready(pull, ZLINK_READY_PEERS, 1), 0);
    std::thread sender([&] {
        for (int i = 0; i < count; ++i)
            if (push.send(body) == -1)
                break;
    });
    EXPECT_TRUE(eventually([&] { return stats_of(push).sends_blocked > 0; }));
    const std::uint64_t most = (GetParam() == "inproc" ? 2 : 1) * mark + body.size() + 9;
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(pull.receive().value_or("").size(), body.size()) << i;
        if (i % 16 == 0) {
            EXPECT_LE(stats_of(pull).queued_in_octets, most);
            EXPECT_LE(stats_of(push).queued_out_octets, most);
        }
    }
    sender.join();
}

TEST_P(steering_over, a_message_larger_than_the_mark_comes_behind_a_small_one_to_who_only_tries) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    set_octets(pull, ZLINK_RCVHWM_BYTES, 1'000'000);
    push.connect(pull.bind(place()));
    ASSERT_EQ(push.send(std::string(100, 's')), 100);
    const frames large(3, std::string(600'000, 'l'));
    ASSERT_TRUE(push.send_all(large));
    frames received;
    EXPECT_TRUE(eventually([&] {
        while (const auto part = pull.receive(ZMQ_DONTWAIT))
            received.push_back(*part);
        return received.size() == 4;
    }));
    ASSERT_EQ(received.size(), 4u);
    EXPECT_EQ(received[0].size(), 100u);
    EXPECT_EQ(frames(received.begin() + 1, received.end()), large);
}

// ---- zlink_drain ----

zlink_drain_t drain(test_socket &what, long milliseconds, int expected_errno = 0) {
    zlink_drain_t result;
    const int rc = zlink_drain(what.handle(), milliseconds, &result, sizeof result);
    EXPECT_EQ(rc, expected_errno == 0 ? 0 : -1);
    EXPECT_EQ(rc == 0 ? 0 : zmq_errno(), expected_errno) << zmq_strerror(zmq_errno());
    return result;
}

TEST_P(steering_over, a_drain_waits_until_all_that_was_sent_has_gone_out) {
    constexpr int count = 300;
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    pull.set(ZMQ_RCVHWM, 0);
    push.connect(pull.bind(place()));
    for (int i = 0; i < count; ++i)
        ASSERT_NE(push.send(std::string(5000, 'd')), -1);
    // It takes what there is, and not once more.
    std::thread reader([&] {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(pull.receive());
    });
    const zlink_drain_t result = drain(push, -1);
    EXPECT_EQ(result.left, 0u);
    EXPECT_EQ(result.lost, 0u);
    EXPECT_LE(result.sent, count);
    EXPECT_EQ(stats_of(push).queued_out, 0u);
    push.close();  // without any linger
    reader.join();
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
}

TEST_F(steering, a_drain_says_what_is_left_where_nobody_takes_it) {
    test_socket push = zmq.socket(ZMQ_PUSH), pair = zmq.socket(ZMQ_PAIR), near = zmq.socket(ZMQ_PAIR);
    push.connect(deserted_endpoint());
    pair.connect(near.bind(scratch_endpoint("inproc")));
    for (int i = 0; i < 3; ++i) {
        ASSERT_NE(push.send("x"), -1);
        ASSERT_NE(pair.send("x"), -1);
    }
    EXPECT_EQ(drain(push, 0, EAGAIN).left, 3u);
    EXPECT_EQ(drain(push, 1, EAGAIN).left, 3u);
    EXPECT_EQ(drain(pair, 1, EAGAIN).left, 3u);
    ASSERT_TRUE(near.receive());
    EXPECT_EQ(drain(pair, 0, EAGAIN).left, 2u);
    std::thread closer([&] { near.close(); });
    const zlink_drain_t result = drain(pair, -1);
    closer.join();
    EXPECT_TRUE(result.lost == 2 || result.lost == 0) << result.lost << ", 0 where it had gone before";
    EXPECT_EQ(result.sent + result.left, 0u);
    EXPECT_EQ(drain(near = zmq.socket(ZMQ_PULL), -1).sent, 0u);
}

TEST_F(steering, a_drain_of_a_pipe_that_keeps_the_newest_ends_once_that_is_taken) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    push.set(ZMQ_CONFLATE, 1);
    pull.set(ZMQ_CONFLATE, 1);
    push.connect(pull.bind(scratch_endpoint("inproc")));
    for (const char *body : {"old", "new"})
        ASSERT_EQ(push.send(body), 3);
    EXPECT_EQ(drain(push, 0, EAGAIN).left, 1u);
    std::thread reader([&] { EXPECT_EQ(pull.receive(), "new"); });
    EXPECT_EQ(drain(push, -1).left, 0u);
    reader.join();
}

TEST_F(steering, a_drain_fills_a_struct_of_any_size) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    struct {
        zlink_drain_t known;
        std::uint64_t later;
    } larger;
    std::memset(&larger, 0xFF, sizeof larger);
    EXPECT_EQ(zlink_drain(push.handle(), 0, &larger.known, sizeof larger), 0);
    EXPECT_EQ(larger.known.sent + larger.known.left + larger.known.lost + larger.later, 0u);
    std::memset(&larger, 0xFF, sizeof larger);
    EXPECT_EQ(zlink_drain(push.handle(), 0, &larger.known, sizeof larger.known.sent), 0);
    EXPECT_EQ(larger.known.sent, 0u);
    EXPECT_EQ(larger.known.left, UINT64_MAX);
    EXPECT_EQ(zlink_drain(push.handle(), 0, nullptr, 0), 0);
    EXPECT_FAILS(ENOTSOCK, zlink_drain(nullptr, 0, nullptr, 0));
}

// ---- zlink_disconnect ----

std::vector<std::uint64_t> peers_of(const test_socket &of) {
    std::vector<std::uint64_t> ids;
    const auto note = [](void *to, const zlink_peer_t *peer, size_t) {
        static_cast<std::vector<std::uint64_t> *>(to)->push_back(peer->id);
        return 0;
    };
    EXPECT_NE(zlink_peers(of.handle(), note, &ids), -1);
    return ids;
}

TEST_P(steering_over, one_peer_of_several_is_cut_off_by_its_id) {
    test_socket router = zmq.socket(ZMQ_ROUTER), first = zmq.socket(ZMQ_DEALER),
                second = zmq.socket(ZMQ_DEALER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    first.set(ZMQ_ROUTING_ID, "first");
    second.set(ZMQ_ROUTING_ID, "second");
    for (test_socket *const dealer : {&first, &second})
        dealer->set(ZMQ_RECONNECT_IVL, -1);
    monitor events(zmq, router, everything);
    const std::string endpoint = router.bind(place());
    first.connect(endpoint);
    ASSERT_EQ(wait_ready(router, ZLINK_READY_PEERS, 1), 0);
    const std::vector<std::uint64_t> ids = peers_of(router);
    ASSERT_EQ(ids.size(), 1u);
    second.connect(endpoint);
    ASSERT_EQ(wait_ready(router, ZLINK_READY_PEERS, 2), 0);
    ASSERT_EQ(zlink_disconnect(router.handle(), ids[0]), 0) << zmq_strerror(zmq_errno());
    if (GetParam() != "inproc") {
        EXPECT_NE(events.next(ZMQ_EVENT_REASON).words.find("zlink_disconnect"), std::string::npos);
        EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    }
    EXPECT_TRUE(eventually([&] {
        return !router.send_all({"first", "gone"}, ZMQ_DONTWAIT) && zmq_errno() == EHOSTUNREACH;
    }));
    EXPECT_TRUE(eventually([&] { return wait_ready(first, ZLINK_READY_PEERS, 1, 0) != 0; }));
    EXPECT_TRUE(router.send_all({"second", "still here"}));
    EXPECT_EQ(second.receive(), "still here");
    EXPECT_FAILS(ENOENT, zlink_disconnect(router.handle(), ids[0]));
    EXPECT_EQ(stats_of(router).disconnects_local, GetParam() == "inproc" ? 0u : 1u);
}

TEST_F(steering, an_address_whose_peer_is_cut_off_is_connected_to_again_and_keeps_its_queue) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    push.set(ZMQ_RECONNECT_IVL, 1);
    monitor events(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    push.connect(pull.bind("tcp://127.0.0.1:*"));
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    ASSERT_EQ(zlink_disconnect(push.handle(), peers_of(push).at(0)), 0);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    ASSERT_EQ(push.send("kept"), 4);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(pull.receive(), "kept");
}

TEST_F(steering, an_address_is_connected_to_again_though_it_was_cut_off_in_its_handshake) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    zlink::test::raw_listener far;
    push.set(ZMQ_RECONNECT_IVL, 1);
    push.set(ZMQ_RECONNECT_STOP, ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED);
    monitor events(zmq, push, ZMQ_EVENT_CONNECTED);
    push.connect(far.endpoint());
    const auto first = far.accept();
    EXPECT_EQ(events.next().event, ZMQ_EVENT_CONNECTED);
    ASSERT_EQ(zlink_disconnect(push.handle(), peers_of(push).at(0)), 0);
    EXPECT_TRUE(far.accept().is_open());
}

TEST_F(steering, nobody_is_cut_off_whom_there_is_not) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    EXPECT_FAILS(ENOENT, zlink_disconnect(push.handle(), 0));
    push.bind("tcp://127.0.0.1:*");
    EXPECT_FAILS(ENOENT, zlink_disconnect(push.handle(), UINT64_MAX));
    EXPECT_FAILS(ENOTSOCK, zlink_disconnect(nullptr, 1));
}

// ---- ZLINK_SLOW_PEER ----

TEST_P(steering_over, a_subscriber_that_is_too_slow_is_cut_off_where_the_publisher_says_so) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    ASSERT_EQ(pub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DISCONNECT), 0);
    EXPECT_EQ(pub.get(ZLINK_SLOW_PEER), ZLINK_SLOW_PEER_DISCONNECT);
    pub.set(ZMQ_SNDHWM, 2);
    sub.set(ZMQ_RCVHWM, 2);
    sub.set(ZMQ_RECONNECT_IVL, -1);
    sub.set(ZMQ_SUBSCRIBE, "");
    monitor events(zmq, pub, everything);
    sub.connect(pub.bind(place()));
    ASSERT_EQ(wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1), 0);
    const std::string body(1'000'000, 'x');
    EXPECT_TRUE(eventually([&] {
        EXPECT_NE(pub.send(body), -1);
        return wait_ready(pub, ZLINK_READY_PEERS, 1, 0) != 0;
    }));
    if (GetParam() != "inproc") {
        EXPECT_NE(events.next(ZMQ_EVENT_REASON).words.find("ZLINK_SLOW_PEER"), std::string::npos);
        EXPECT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
        EXPECT_EQ(stats_of(pub).disconnects_local, 1u);
    }
    EXPECT_GT(stats_of(pub).dropped_hwm, 0u);
}

// One that is bound says its subscriptions from within a call.
bool subscribes_to(test_socket &sub, test_socket &pub) {
    return eventually([&] {
        sub.has_input(0);
        return wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1, 0) == 0;
    });
}

TEST_F(steering, a_slow_subscriber_that_the_publisher_connects_to_begins_with_an_empty_queue_again) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    ASSERT_EQ(pub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DISCONNECT), 0);
    pub.set(ZMQ_SNDHWM, 2);
    pub.set(ZMQ_RECONNECT_IVL, 1000 * 1000);
    sub.set(ZMQ_RCVHWM, 2);
    sub.set(ZMQ_SUBSCRIBE, "");
    pub.connect(sub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(subscribes_to(sub, pub));
    const std::string body(1'000'000, 'x');
    EXPECT_TRUE(eventually([&] {
        EXPECT_NE(pub.send(body), -1);
        return wait_ready(pub, ZLINK_READY_PEERS, 1, 0) != 0;
    }));
    EXPECT_FAILS(EAGAIN, wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1, 0));
    EXPECT_TRUE(eventually([&] {
        EXPECT_NE(pub.send("nobody gets it"), -1);
        return stats_of(pub).queued_out == 0;
    }));
}

TEST_F(steering, a_subscriber_that_is_lost_is_not_ready_though_its_subscriptions_stand) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_RECONNECT_IVL, 1000 * 1000);
    sub.set(ZMQ_SUBSCRIBE, "");
    pub.connect(sub.bind("tcp://127.0.0.1:*"));
    ASSERT_TRUE(subscribes_to(sub, pub));
    sub.close();
    EXPECT_TRUE(eventually([&] { return wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1, 0) != 0; }));
}

// A ROUTER and a DEALER with room for four messages between them.
class full_router : public steering {
protected:
    full_router() {
        router.set(ZMQ_SNDHWM, 2);
        dealer.set(ZMQ_RCVHWM, 2);
        dealer.set(ZMQ_ROUTING_ID, "slow");
        dealer.connect(router.bind(scratch_endpoint("inproc")));
        EXPECT_EQ(wait_ready(router, ZLINK_READY_PEERS, 1), 0);
        for (int i = 0; i < 4; ++i)
            EXPECT_TRUE(send());
    }
    bool send() { return router.send_all({"slow", "task"}, ZMQ_DONTWAIT); }

    test_socket router = zmq.socket(ZMQ_ROUTER), dealer = zmq.socket(ZMQ_DEALER);
};

TEST_F(full_router, blocks_drops_or_disconnects_as_it_is_told) {
    EXPECT_TRUE(send()) << "libzmq's ROUTER drops";
    EXPECT_EQ(stats_of(router).dropped_hwm, 1u);
    router.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_BLOCK);
    EXPECT_FALSE(send());
    EXPECT_EQ(zmq_errno(), EAGAIN);
    EXPECT_FALSE(router.has_room(0));
    EXPECT_TRUE(router.send_all({"nobody", "task"})) << "and still drops what nobody could get";
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    router.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DROP);
    EXPECT_TRUE(send());
    EXPECT_EQ(stats_of(router).dropped_hwm, 2u);
    EXPECT_FALSE(router.send_all({"nobody", "task"}));
    EXPECT_EQ(zmq_errno(), EHOSTUNREACH);
    router.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_AS_TYPE);
    EXPECT_FALSE(send());
    EXPECT_EQ(zmq_errno(), EAGAIN);
    router.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DISCONNECT);
    EXPECT_TRUE(send());
    EXPECT_FALSE(send());
    EXPECT_EQ(zmq_errno(), EHOSTUNREACH) << "it was cut off";
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(dealer.receive(), "task") << "what it had been sent";
}

TEST_F(steering, a_router_that_waits_for_full_peers_has_room_where_it_has_none) {
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_BLOCK), 0);
    router.bind(scratch_endpoint("inproc"));
    EXPECT_TRUE(router.has_room(0));
    EXPECT_TRUE(router.send_all({"nobody", "task"}));
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    EXPECT_FALSE(router.has_room(0));
}

TEST_F(steering, slow_peers_of_a_publisher_hold_it_up_by_either_option) {
    test_socket pub = zmq.socket(ZMQ_XPUB), sub = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_SNDHWM, 2);
    sub.set(ZMQ_RCVHWM, 2);
    sub.set(ZMQ_SUBSCRIBE, "");
    sub.connect(pub.bind(scratch_endpoint("inproc")));
    ASSERT_EQ(wait_ready(pub, ZLINK_READY_SUBSCRIBERS, 1), 0);
    ASSERT_EQ(pub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_BLOCK), 0);
    for (int i = 0; i < 4; ++i)
        ASSERT_EQ(pub.send("x", ZMQ_DONTWAIT), 1);
    EXPECT_FAILS(EAGAIN, pub.send("x", ZMQ_DONTWAIT));
    ASSERT_EQ(pub.set(ZMQ_XPUB_NODROP, 0), 0);
    EXPECT_EQ(pub.get(ZLINK_SLOW_PEER), ZLINK_SLOW_PEER_AS_TYPE);
    EXPECT_EQ(pub.send("x", ZMQ_DONTWAIT), 1);
    ASSERT_EQ(pub.set(ZMQ_XPUB_NODROP, 1), 0);
    EXPECT_EQ(pub.get(ZLINK_SLOW_PEER), ZLINK_SLOW_PEER_BLOCK);
    EXPECT_FAILS(EAGAIN, pub.send("x", ZMQ_DONTWAIT));
    EXPECT_FAILS(EINVAL, pub.set(ZLINK_SLOW_PEER, 4));
    EXPECT_FAILS(EINVAL, sub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DROP));
}

}  // namespace
