// Large bodies go to the kernel from the message's own memory, which is given back when the kernel
// has all of it.
//
// With the debug counters every copy is seen; without them content and the return of lent memory
// tell.
#include "lent_bodies.hpp"

namespace {

using namespace zlink_test;
using zlink::test::command;
using zlink::test::long_header;
using zlink::test::message;
using zlink::test::raw_peer;

constexpr std::size_t threshold = 8 * 1024;

class asio_zerocopy : public ::testing::TestWithParam<std::string> {
protected:
    // Links a raw peer with little room to `bound`, and forgets what was counted until then.
    raw_peer linked_peer(test_socket &bound, const char *type) {
        bound.set(ZMQ_SNDBUF, little_room);
        raw_peer peer(bound.bind(scratch_endpoint(GetParam())));
        keep_little(peer);
        EXPECT_TRUE(peer.shake_hands(type));
        write_counters::reset();
        return peer;
    }
    void link(test_socket &from, test_socket &to) {
        connected(zmq, from, to, GetParam());
        write_counters::reset();
    }

    lent_bodies bodies;
    context zmq;
};

TEST_P(asio_zerocopy, takes_bodies_of_8_kib_and_more_from_the_message) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    link(push, pull);
    std::size_t sent = 0;
    for (const std::size_t size : {threshold, threshold + 1, 65536ul, 100000ul, 262144ul}) {
        const std::string text = octets(size);
        ASSERT_TRUE(send_message(push, text));
        EXPECT_TRUE(pull.receive() == text) << size;
        ASSERT_EQ(zmq_send_const(push.handle(), text.data(), size, 0), static_cast<int>(size));
        EXPECT_TRUE(pull.receive() == text) << size;
        sent += 2;
    }
    EXPECT_TRUE(reaches(write_counters::zerocopy, sent)) << write_counters::zerocopy();
    EXPECT_TRUE(reaches(write_counters::gathered, sent)) << write_counters::gathered();
    EXPECT_EQ(write_counters::copied(), 0u);
    EXPECT_LT(write_counters::fallback(), sent);  // of the handshake, if any
}

TEST_P(asio_zerocopy, copies_small_bodies_and_counts_them) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    link(push, pull);
    const std::size_t sizes[] = {0, 1, 100, 255, 256, 1000, threshold - 1};
    std::size_t sent = 0;
    std::size_t total = 0;
    for (const std::size_t size : sizes) {
        const std::string text = octets(size);
        ASSERT_EQ(push.send(text), static_cast<int>(size));
        EXPECT_TRUE(pull.receive() == text) << size;
        ASSERT_TRUE(send_message(push, text));
        EXPECT_TRUE(pull.receive() == text) << size;
        sent += 2;
        total += 2 * size;
    }
    EXPECT_TRUE(reaches(write_counters::fallback, sent)) << write_counters::fallback();
    EXPECT_EQ(write_counters::zerocopy(), 0u);
    EXPECT_EQ(write_counters::copied(), write_counters::are_built ? total : 0);
}

TEST_P(asio_zerocopy, copies_what_the_caller_may_use_again) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    std::string buffer = octets(beyond_the_kernel);
    const std::string text = buffer;
    ASSERT_EQ(push.send(buffer), static_cast<int>(buffer.size()));
    buffer.assign(buffer.size(), '#');
    EXPECT_TRUE(peer.receive_frame().second == text);
    EXPECT_EQ(write_counters::copied(), write_counters::are_built ? text.size() : 0);
    EXPECT_EQ(write_counters::zerocopy(), 0u);
}

TEST_P(asio_zerocopy, gathers_headers_and_bodies) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    const std::string large = octets(threshold);
    for (std::size_t i = 1; i <= 10; ++i) {
        ASSERT_EQ(push.send("small", ZMQ_SNDMORE), 5);
        ASSERT_TRUE(bodies.send(push, large, ZMQ_SNDMORE));
        ASSERT_TRUE(bodies.send(push, "small and lent"));
        const std::string expected =
            message("small", true) + long_header(1, large.size()) + large + message("small and lent");
        EXPECT_TRUE(peer.receive(expected.size()) == expected);
        EXPECT_TRUE(reaches(write_counters::gathered, i)) << write_counters::gathered();
        EXPECT_TRUE(reaches(write_counters::zerocopy, i)) << write_counters::zerocopy();
    }
    // To copy a small body is less work than to gather it, whoever owns it.
    EXPECT_EQ(write_counters::copied(), write_counters::are_built ? 10 * (5u + 14u) : 0);
    EXPECT_LT(write_counters::fallback(), 10u);
}

TEST_P(asio_zerocopy, gives_a_body_back_when_the_kernel_has_all_of_it_and_not_before) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    const std::string text = octets(2 * beyond_the_kernel);
    ASSERT_TRUE(bodies.send(push, text));
    EXPECT_EQ(peer.receive(9), long_header(0, text.size()));
    std::string received = peer.receive(beyond_the_kernel);
    EXPECT_EQ(bodies.given_back(), 0);
    EXPECT_EQ(write_counters::zerocopy(), 0u);
    received += peer.receive(text.size() - received.size());
    EXPECT_TRUE(received == text);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
    EXPECT_TRUE(reaches(write_counters::zerocopy, 1));
    EXPECT_EQ(write_counters::copied(), 0u);
}

TEST_P(asio_zerocopy, gives_a_body_back_when_the_connection_breaks_in_it) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    ASSERT_TRUE(bodies.send(push, octets(2 * beyond_the_kernel)));
    EXPECT_EQ(peer.receive(threshold).size(), threshold);
    EXPECT_EQ(bodies.given_back(), 0);
    reset(peer);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
    EXPECT_EQ(write_counters::zerocopy(), 0u);  // it was not taken as a whole
}

TEST_P(asio_zerocopy, gives_a_body_back_when_the_socket_is_closed_in_it) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    ASSERT_TRUE(bodies.send(push, octets(2 * beyond_the_kernel)));
    EXPECT_EQ(peer.receive(threshold).size(), threshold);
    EXPECT_EQ(bodies.given_back(), 0);
    push.close();
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
    EXPECT_TRUE(peer.is_closed_by_other_side());
}

TEST_P(asio_zerocopy, keeps_a_body_of_a_closed_socket_that_lingers) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_LINGER, -1);
    raw_peer peer = linked_peer(push, "PULL");
    const std::string text = octets(2 * beyond_the_kernel);
    ASSERT_TRUE(bodies.send(push, text));
    push.close();
    EXPECT_EQ(peer.receive(9), long_header(0, text.size()));
    EXPECT_EQ(bodies.given_back(), 0);
    EXPECT_TRUE(peer.receive(text.size()) == text);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
}

TEST_P(asio_zerocopy, keeps_the_content_of_1_mib) {
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    test_socket router = zmq.socket(ZMQ_ROUTER);
    link(dealer, router);
    for (unsigned seed = 1; seed <= 20; ++seed) {
        const std::string there = octets(1u << 20, seed);
        const std::string back = octets(1u << 20, seed + 100);
        ASSERT_TRUE(bodies.send(dealer, there));
        const frames request = router.receive_all();
        ASSERT_EQ(request.size(), 2u);
        EXPECT_TRUE(request[1] == there);
        ASSERT_GT(router.send(request[0], ZMQ_SNDMORE), 0);
        ASSERT_TRUE(bodies.send(router, back));
        EXPECT_TRUE(dealer.receive() == back);
    }
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 40; }));
    EXPECT_TRUE(reaches(write_counters::zerocopy, 40));
    EXPECT_EQ(write_counters::copied(), 0u);
}

TEST_P(asio_zerocopy, sends_one_body_to_all_subscribers) {
    test_socket pub = zmq.socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    raw_peer stalled = linked_peer(pub, "SUB");
    ASSERT_TRUE(stalled.send(command("SUBSCRIBE")));
    ASSERT_EQ(pub.receive(), "\1");
    std::vector<test_socket> subs;
    for (int i = 0; i < 3; ++i) {
        subs.push_back(zmq.socket(ZMQ_SUB));
        subs.back().set(ZMQ_SUBSCRIBE, "");
        subs.back().connect(pub.last_endpoint());
        ASSERT_EQ(pub.receive(), "\1");
    }
    write_counters::reset();
    const std::string text = octets(2 * beyond_the_kernel);
    ASSERT_TRUE(bodies.send(pub, text));
    for (test_socket &sub : subs)
        EXPECT_TRUE(sub.receive() == text);
    EXPECT_TRUE(reaches(write_counters::zerocopy, 3));
    EXPECT_EQ(bodies.given_back(), 0);  // the fourth has not got it
    EXPECT_EQ(stalled.receive(9), long_header(0, text.size()));
    EXPECT_TRUE(stalled.receive(text.size()) == text);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
    EXPECT_TRUE(reaches(write_counters::zerocopy, 4));
    EXPECT_EQ(write_counters::copied(), 0u);
}

INSTANTIATE_TEST_SUITE_P(over, asio_zerocopy, ::testing::Values("tcp", "ipc"),
                         [](const auto &which) { return which.param; });

#ifdef ZMQ_DEBUG_COUNTERS

TEST(debug_counters, count_a_handshake_as_a_fallback_and_no_more) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    zmq_debug_reset_counters();
    raw_peer peer(push.bind(scratch_endpoint("tcp")));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    EXPECT_TRUE(reaches(write_counters::fallback, 1));
    EXPECT_EQ(zmq_debug_get_zerocopy_count(), 0u);
    EXPECT_EQ(zmq_debug_get_bytes_copied(), 0u);
    EXPECT_EQ(zmq_debug_get_scatter_gather_count(), 0u);
}

TEST(debug_counters, leave_inproc_out) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    connected(zmq, push, pull, "inproc");
    zmq_debug_reset_counters();
    for (const std::size_t size : {10ul, 1000ul, 100000ul}) {
        ASSERT_TRUE(send_message(push, octets(size)));
        ASSERT_EQ(push.send(octets(size)), static_cast<int>(size));
        EXPECT_TRUE(pull.receive() == octets(size));
        EXPECT_TRUE(pull.receive() == octets(size));
    }
    EXPECT_EQ(zmq_debug_get_bytes_copied(), 0u);
    EXPECT_EQ(zmq_debug_get_zerocopy_count(), 0u);
    EXPECT_EQ(zmq_debug_get_fallback_count(), 0u);
}

TEST(debug_counters, count_one_copy_for_all_subscribers) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    const std::string endpoint = pub.bind(scratch_endpoint("tcp"));
    std::vector<test_socket> subs;
    for (int i = 0; i < 3; ++i) {
        subs.push_back(zmq.socket(ZMQ_SUB));
        subs.back().set(ZMQ_SUBSCRIBE, "");
        subs.back().connect(endpoint);
        ASSERT_EQ(pub.receive(), "\1");
    }
    const std::string text = octets(100000);
    zmq_debug_reset_counters();
    ASSERT_EQ(pub.send(text), static_cast<int>(text.size()));
    for (test_socket &sub : subs)
        EXPECT_TRUE(sub.receive() == text);
    EXPECT_EQ(zmq_debug_get_bytes_copied(), text.size());
}

TEST(debug_counters, start_again_at_0) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    connected(zmq, push, pull, "tcp");
    ASSERT_EQ(push.send("hello"), 5);
    ASSERT_TRUE(send_message(push, octets(threshold)));
    EXPECT_EQ(pull.receive(), "hello");
    EXPECT_TRUE(pull.receive() == octets(threshold));
    push.close();
    pull.close();
    zmq.term();
    EXPECT_GE(zmq_debug_get_zerocopy_count(), 1u);
    EXPECT_GE(zmq_debug_get_fallback_count(), 1u);
    EXPECT_GE(zmq_debug_get_bytes_copied(), 5u);
    EXPECT_GE(zmq_debug_get_scatter_gather_count(), 1u);
    zmq_debug_reset_counters();
    EXPECT_EQ(zmq_debug_get_zerocopy_count(), 0u);
    EXPECT_EQ(zmq_debug_get_fallback_count(), 0u);
    EXPECT_EQ(zmq_debug_get_bytes_copied(), 0u);
    EXPECT_EQ(zmq_debug_get_scatter_gather_count(), 0u);
    EXPECT_EQ(zmq_debug_get_partial_write_count(), 0u);
}

#endif

}  // namespace
