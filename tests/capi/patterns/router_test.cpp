// ROUTER: routing ids, peers that are not there, hand-over, chosen ids and probes.
#define ZMQ_BUILD_DRAFT_API
#include "sockets.hpp"

namespace {

using namespace zlink_test;

TEST(router, puts_the_peers_id_before_each_message_and_takes_it_off_again) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    connected(zmq, router, dealer);
    ASSERT_TRUE(dealer.send_all({"one", "two"}));
    EXPECT_EQ(router.receive_all(), (frames{"alice", "one", "two"}));
    ASSERT_TRUE(router.send_all({"alice", "three"}));
    EXPECT_EQ(dealer.receive_all(), (frames{"three"}));
}

TEST(router, invents_an_id_of_five_bytes_that_begins_with_zero) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    connected(zmq, router, dealer);
    dealer.send("hello");
    const frames found = router.receive_all();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].size(), 5u);
    EXPECT_EQ(found[0][0], '\0');
}

TEST(router, drops_a_message_for_nobody_without_an_error) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    connected(zmq, router, dealer);
    EXPECT_TRUE(router.send_all({"nobody", "lost", "wholly"}));
    EXPECT_TRUE(router.send_all({"alice", "kept"}));
    EXPECT_EQ(dealer.receive_all(), (frames{"kept"}));
}

TEST(router, mandatory_reports_a_peer_that_is_not_there) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    router.bind(scratch_endpoint("tcp"));
    ASSERT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 1), 0);
    EXPECT_FAILS(EHOSTUNREACH, router.send("nobody", ZMQ_SNDMORE));
}

TEST(router, mandatory_still_reaches_those_who_are_there_after_a_failure) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    connected(zmq, router, dealer);
    EXPECT_FAILS(EHOSTUNREACH, router.send("nobody", ZMQ_SNDMORE));
    EXPECT_TRUE(router.send_all({"alice", "kept"}));
    EXPECT_EQ(dealer.receive_all(), (frames{"kept"}));
}

TEST(router, mandatory_reports_a_full_peer_and_sends_when_it_reads) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    dealer.set(ZMQ_RCVHWM, 2);
    router.set(ZMQ_SNDHWM, 2);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    connected(zmq, router, dealer, "inproc");
    int count = 0;
    while (count < 100 && router.send("alice", ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
        ASSERT_EQ(router.send("x", ZMQ_DONTWAIT), 1);
        ++count;
    }
    EXPECT_EQ(zmq_errno(), EAGAIN);
    EXPECT_EQ(count, 4);
    for (int i = 0; i < count; ++i)
        EXPECT_EQ(dealer.receive(), "x");
    EXPECT_TRUE(router.send_all({"alice", "again"}));
    EXPECT_EQ(dealer.receive(), "again");
}

TEST(router, without_mandatory_a_full_peer_loses_messages) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    dealer.set(ZMQ_RCVHWM, 2);
    router.set(ZMQ_SNDHWM, 2);
    connected(zmq, router, dealer, "inproc");
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(router.send_all({"alice", "x"}, ZMQ_DONTWAIT));
    int count = 0;
    while (dealer.receive(ZMQ_DONTWAIT))
        ++count;
    EXPECT_EQ(count, 4);
}

TEST(router, forgets_a_peer_that_has_gone) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    router.set(ZMQ_ROUTER_MANDATORY, 1);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    connected(zmq, router, dealer);
    ASSERT_TRUE(router.send_all({"alice", "x"}));
    dealer.close();
    EXPECT_TRUE(eventually([&] {
        if (router.send("alice", ZMQ_SNDMORE | ZMQ_DONTWAIT) != -1) {
            router.send("x", ZMQ_DONTWAIT);
            return false;
        }
        return zmq_errno() == EHOSTUNREACH;
    }));
}

TEST(router, keeps_the_first_of_two_peers_with_one_id) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket first = zmq.socket(ZMQ_DEALER);
    test_socket second = zmq.socket(ZMQ_DEALER);
    first.set(ZMQ_ROUTING_ID, "twin");
    second.set(ZMQ_ROUTING_ID, "twin");
    const std::string endpoint = connected(zmq, router, first, "tcp");
    ASSERT_EQ(first.send("mine"), 4);
    ASSERT_EQ(router.receive_all(), (frames{"twin", "mine"}));
    second.connect(endpoint);
    second.send("ignored");
    ASSERT_EQ(first.send("still mine"), 10);
    EXPECT_EQ(router.receive_all(), (frames{"twin", "still mine"}));
    ASSERT_TRUE(router.send_all({"twin", "for the first"}));
    EXPECT_EQ(first.receive(), "for the first");
    EXPECT_FALSE(second.receive(ZMQ_DONTWAIT));
}

TEST(router, hands_an_id_over_to_the_newest_peer_when_told_so) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    ASSERT_EQ(router.set(ZMQ_ROUTER_HANDOVER, 1), 0);
    test_socket first = zmq.socket(ZMQ_DEALER);
    test_socket second = zmq.socket(ZMQ_DEALER);
    first.set(ZMQ_ROUTING_ID, "twin");
    second.set(ZMQ_ROUTING_ID, "twin");
    const std::string endpoint = connected(zmq, router, first, "tcp");
    ASSERT_EQ(first.send("mine"), 4);
    ASSERT_EQ(router.receive_all(), (frames{"twin", "mine"}));
    second.connect(endpoint);
    ASSERT_EQ(second.send("now mine"), 8);
    ASSERT_EQ(router.receive_all(), (frames{"twin", "now mine"}));
    ASSERT_TRUE(router.send_all({"twin", "for the second"}));
    EXPECT_EQ(second.receive(), "for the second");
}

TEST(router, tells_of_a_peer_that_comes_and_of_one_that_goes_as_it_is_told) {
    for (const int told :
         {0, ZMQ_NOTIFY_CONNECT, ZMQ_NOTIFY_DISCONNECT, ZMQ_NOTIFY_CONNECT | ZMQ_NOTIFY_DISCONNECT}) {
        SCOPED_TRACE(told);
        context zmq;
        test_socket router = zmq.socket(ZMQ_ROUTER);
        test_socket dealer = zmq.socket(ZMQ_DEALER);
        ASSERT_EQ(router.set(ZMQ_ROUTER_NOTIFY, told), 0);
        dealer.set(ZMQ_ROUTING_ID, "alice");
        connected(zmq, router, dealer);
        dealer.send("hello");
        if (told & ZMQ_NOTIFY_CONNECT) {
            EXPECT_EQ(router.receive_all(), (frames{"alice", ""}));
        }
        EXPECT_EQ(router.receive_all(), (frames{"alice", "hello"}));
        if (told & ZMQ_NOTIFY_DISCONNECT) {
            dealer.close();
            EXPECT_EQ(router.receive_all(), (frames{"alice", ""}));
        }
    }
}

TEST(router, connects_to_a_peer_under_a_chosen_id) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_ROUTER);
    test_socket connecting = zmq.socket(ZMQ_ROUTER);
    bound.set(ZMQ_ROUTING_ID, "own name");
    connecting.set(ZMQ_ROUTING_ID, "caller");
    ASSERT_EQ(connecting.set(ZMQ_CONNECT_ROUTING_ID, "chosen"), 0);
    const std::string endpoint = bound.bind(scratch_endpoint("tcp"));
    connecting.connect(endpoint);
    ASSERT_TRUE(connecting.send_all({"chosen", "hello"}));
    EXPECT_EQ(bound.receive_all(), (frames{"caller", "hello"}));
    ASSERT_TRUE(bound.send_all({"caller", "answer"}));
    EXPECT_EQ(connecting.receive_all(), (frames{"chosen", "answer"}));
}

TEST(router, a_probe_arrives_as_an_empty_message) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    dealer.set(ZMQ_ROUTING_ID, "alice");
    ASSERT_EQ(dealer.set(ZMQ_PROBE_ROUTER, 1), 0);
    dealer.connect(router.bind(scratch_endpoint("tcp")));
    EXPECT_EQ(router.receive_all(), (frames{"alice", ""}));
    ASSERT_TRUE(router.send_all({"alice", "hello"}));
    EXPECT_EQ(dealer.receive(), "hello");
}

TEST(router, a_probing_router_makes_itself_known) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    test_socket other = zmq.socket(ZMQ_ROUTER);
    other.set(ZMQ_ROUTING_ID, "bob");
    other.set(ZMQ_PROBE_ROUTER, 1);
    other.connect(router.bind(scratch_endpoint("tcp")));
    EXPECT_EQ(router.receive_all(), (frames{"bob", ""}));
}

TEST(router, takes_turns_between_its_peers) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    const std::string endpoint = router.bind(scratch_endpoint("inproc"));
    std::vector<test_socket> dealers;
    for (int i = 0; i < 3; ++i) {
        dealers.push_back(zmq.socket(ZMQ_DEALER));
        dealers.back().set(ZMQ_ROUTING_ID, std::string(1, static_cast<char>('a' + i)));
        dealers.back().connect(endpoint);
        for (int n = 0; n < 4; ++n)
            dealers.back().send(std::to_string(n));
    }
    for (int n = 0; n < 4; ++n) {
        std::string seen;
        for (int i = 0; i < 3; ++i) {
            const frames found = router.receive_all();
            ASSERT_EQ(found.size(), 2u);
            EXPECT_EQ(found[1], std::to_string(n));
            seen += found[0];
        }
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, "abc");
    }
}

TEST(router, rejects_ids_that_are_empty_or_too_long) {
    context zmq;
    test_socket router = zmq.socket(ZMQ_ROUTER);
    EXPECT_FAILS(EINVAL, router.set(ZMQ_ROUTING_ID, ""));
    EXPECT_FAILS(EINVAL, router.set(ZMQ_ROUTING_ID, std::string(256, 'x')));
    EXPECT_EQ(router.set(ZMQ_ROUTING_ID, std::string(255, 'x')), 0);
}

}  // namespace
