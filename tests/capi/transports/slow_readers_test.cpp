// Peers that take a little at a time: everything arrives whole and in order, and memory stays until
// it has gone.
#include "lent_bodies.hpp"

namespace {

using namespace zlink_test;
using zlink::test::command;
using zlink::test::long_header;
using zlink::test::message;
using zlink::test::raw_peer;

class asio_partial_write : public ::testing::TestWithParam<std::string> {
protected:
    // A socket that the kernel takes little from at once, without a mark.
    test_socket narrow_socket(int type) {
        test_socket made = zmq.socket(type);
        made.set(ZMQ_SNDBUF, little_room);
        made.set(ZMQ_SNDHWM, 0);
        return made;
    }
    raw_peer linked_peer(const std::string &endpoint, const char *type) {
        raw_peer peer(endpoint);
        keep_little(peer);
        EXPECT_TRUE(peer.shake_hands(type));
        return peer;
    }
    raw_peer linked_peer(test_socket &bound, const char *type) {
        return linked_peer(bound.bind(scratch_endpoint(GetParam())), type);
    }

    lent_bodies bodies;
    context zmq;
};

TEST_P(asio_partial_write, a_slow_reader_gets_everything_in_order) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    write_counters::reset();
    std::string expected;
    for (unsigned i = 0; i < 300; ++i) {
        const std::string text = octets(i * 7919 % 40000, i);
        ASSERT_TRUE(i % 3 ? bodies.send(push, text) : push.send(text) == static_cast<int>(text.size()));
        expected += message(text);
    }
    EXPECT_TRUE(receive_slowly(peer, expected.size()) == expected);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 200; }));
    EXPECT_TRUE(reaches(write_counters::partial, 1));
}

TEST_P(asio_partial_write, messages_of_several_parts_stay_together) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    std::string expected;
    for (unsigned i = 0; i < 30; ++i) {
        const std::string small = octets(i * 37, i);
        const std::string large = octets(50000 + i * 1001, i);
        const std::string medium = octets(12000, i);
        ASSERT_EQ(push.send(small, ZMQ_SNDMORE), static_cast<int>(small.size()));
        ASSERT_TRUE(bodies.send(push, large, ZMQ_SNDMORE));
        ASSERT_EQ(push.send("", ZMQ_SNDMORE), 0);
        ASSERT_TRUE(bodies.send(push, small, ZMQ_SNDMORE));
        ASSERT_EQ(push.send(medium), static_cast<int>(medium.size()));
        expected += message(small, true) + message(large, true) + message("", true) + message(small, true) +
                    message(medium);
    }
    EXPECT_TRUE(receive_slowly(peer, expected.size()) == expected);
}

TEST_P(asio_partial_write, a_body_stays_from_its_first_octet_to_its_last) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    raw_peer peer = linked_peer(push, "PULL");
    const std::string first = octets(2 * beyond_the_kernel, 1);
    const std::string second = octets(2 * beyond_the_kernel, 2);
    ASSERT_TRUE(bodies.send(push, first));
    ASSERT_TRUE(bodies.send(push, second));
    std::string expected = message(first) + message(second);
    std::string received;
    while (received.size() < first.size() - beyond_the_kernel) {
        received += peer.receive(100000);
        ASSERT_EQ(bodies.given_back(), 0) << received.size();
    }
    // The first goes as soon as it may, while the second is under way.
    received += peer.receive(first.size() + 100 - received.size());
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 1; }));
    while (received.size() < expected.size() - beyond_the_kernel) {
        received += peer.receive(100000);
        ASSERT_LE(bodies.given_back(), 1) << received.size();
    }
    received += peer.receive(expected.size() - received.size());
    EXPECT_TRUE(received == expected);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 2; }));
}

TEST_P(asio_partial_write, goes_on_when_a_peer_that_stalled_reads_again) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    push.set(ZMQ_SNDHWM, 4);
    raw_peer peer = linked_peer(push, "PULL");
    for (unsigned round = 0; round < 3; ++round) {
        std::string expected;
        for (unsigned i = 0;; ++i) {
            const std::string text = octets(beyond_the_kernel / 2 + i, round * 100 + i);
            if (!bodies.send(push, text, ZMQ_DONTWAIT)) {
                ASSERT_EQ(zmq_errno(), EAGAIN);
                break;
            }
            expected += message(text);
        }
        EXPECT_FALSE(expected.empty());
        EXPECT_FALSE(push.has_room(0));
        ASSERT_TRUE(peer.receive(expected.size()) == expected);
        ASSERT_TRUE(push.has_room());
    }
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == bodies.lent(); }));
}

TEST_P(asio_partial_write, readers_of_different_speed_share_bodies) {
    test_socket pub = narrow_socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    raw_peer fast = linked_peer(pub, "SUB");
    raw_peer slow = linked_peer(pub.last_endpoint(), "SUB");
    for (raw_peer *peer : {&fast, &slow}) {
        ASSERT_TRUE(peer->send(command("SUBSCRIBE")));
        ASSERT_EQ(pub.receive(), "\1");
    }
    std::string expected;
    for (unsigned i = 0; i < 100; ++i) {
        const std::string text = octets(100 + i * 1009, i);
        ASSERT_TRUE(i % 2 ? bodies.send(pub, text) : pub.send(text) == static_cast<int>(text.size()));
        expected += message(text);
    }
    EXPECT_TRUE(fast.receive(expected.size()) == expected);
    EXPECT_LT(bodies.given_back(), bodies.lent());
    EXPECT_TRUE(receive_slowly(slow, expected.size()) == expected);
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == bodies.lent(); }));
}

TEST_P(asio_partial_write, a_full_receiver_gets_everything_when_it_takes_again) {
    test_socket push = narrow_socket(ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.set(ZMQ_RCVBUF, little_window);
    pull.set(ZMQ_RCVHWM, 1);
    connected(zmq, push, pull, GetParam());
    write_counters::reset();
    for (unsigned i = 0; i < 100; ++i)
        ASSERT_TRUE(bodies.send(push, octets(100000 + i, i)));
    EXPECT_TRUE(reaches(write_counters::partial, 1));
    EXPECT_LT(bodies.given_back(), 100);
    for (unsigned i = 0; i < 100; ++i)
        EXPECT_TRUE(pull.receive() == octets(100000 + i, i)) << i;
    EXPECT_TRUE(eventually([&] { return bodies.given_back() == 100; }));
}

INSTANTIATE_TEST_SUITE_P(over, asio_partial_write, ::testing::Values("tcp", "ipc"),
                         [](const auto &which) { return which.param; });

}  // namespace
