// High-water marks: how many messages fit, what a full queue does, and that room comes back.
#include "sockets.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;

int sent_until_full(test_socket &to, int most = 100'000) {
    int count = 0;
    while (count < most && to.send("x", ZMQ_DONTWAIT) == 1)
        ++count;
    return count;
}

TEST(hwm, inproc_holds_the_sum_of_both_marks) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 3);
    push.set(ZMQ_SNDHWM, 2);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(sent_until_full(push), 5);
    EXPECT_FAILS(EAGAIN, push.send("x", ZMQ_DONTWAIT));
}

TEST(hwm, inproc_default_is_a_thousand_on_each_side) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(sent_until_full(push), 2000);
}

TEST(hwm, a_mark_of_zero_means_no_limit) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 0);
    push.set(ZMQ_SNDHWM, 0);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(sent_until_full(push, 20'000), 20'000);
}

TEST(hwm, a_mark_of_zero_means_that_no_send_waits_for_a_reader) {
    for (const char *transport : {"tcp", "ipc", "inproc"}) {
        SCOPED_TRACE(transport);
        context zmq;
        test_socket pull = zmq.socket(ZMQ_PULL);
        test_socket push = zmq.socket(ZMQ_PUSH);
        pull.set(ZMQ_RCVHWM, 4);
        push.set(ZMQ_SNDHWM, 0);
        connected(zmq, pull, push, transport);
        const std::string body(8192, 'x');
        // More than the kernel takes, and than a sender is ahead without a look.
        constexpr int count = 6000;
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(push.send(body), static_cast<int>(body.size()));
        for (int i = 0; i < count; ++i)
            ASSERT_EQ(pull.receive(), body);
    }
}

TEST(hwm, zero_on_one_side_of_inproc_means_no_limit) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 0);
    push.set(ZMQ_SNDHWM, 2);
    connected(zmq, pull, push, "inproc");
    EXPECT_EQ(sent_until_full(push, 20'000), 20'000);
}

TEST(hwm, a_multipart_message_counts_once) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 2);
    push.set(ZMQ_SNDHWM, 2);
    connected(zmq, pull, push, "inproc");
    int count = 0;
    while (count < 100 && push.send_all({"a", "b", "c"}, ZMQ_DONTWAIT))
        ++count;
    EXPECT_EQ(count, 4);
    EXPECT_EQ(pull.receive_all(), (frames{"a", "b", "c"}));
}

TEST(hwm, room_comes_back_when_the_reader_reads) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 4);
    push.set(ZMQ_SNDHWM, 4);
    connected(zmq, pull, push, "inproc");
    for (int round = 0; round < 5; ++round) {
        // A non-blocking send may go by the credit it knows; asking for room looks again.
        ASSERT_TRUE(push.has_room());
        EXPECT_EQ(sent_until_full(push), 8);
        for (int i = 0; i < 8; ++i)
            ASSERT_EQ(pull.receive(), "x");
    }
}

TEST(hwm, an_unconnected_tcp_peer_holds_the_senders_mark) {
    context zmq;
    const std::string endpoint = deserted_endpoint();
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_SNDHWM, 7);
    push.connect(endpoint);
    EXPECT_EQ(sent_until_full(push), 7);
}

TEST(hwm, a_tcp_sender_ends_when_nobody_reads) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 10);
    push.set(ZMQ_SNDHWM, 10);
    connected(zmq, pull, push, "tcp");
    push.set(ZMQ_SNDTIMEO, 100);
    const std::string body(100'000, 'x');
    int count = 0;
    while (count < 10'000 && push.send(body) != -1)
        ++count;
    EXPECT_GE(count, 20);
    EXPECT_LT(count, 10'000);
    for (int i = 0; i < count; ++i)
        ASSERT_EQ(pull.receive(), body);
}

TEST(hwm, a_mark_lowered_on_the_way_stops_nobody_for_good) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_SNDTIMEO, 10'000);
    connected(zmq, pull, push, "tcp");
    for (int i = 0; i < 100; ++i) {
        if (i == 3)
            push.set(ZMQ_SNDHWM, 10);
        ASSERT_EQ(push.send("x", 0), 1) << i;
        ASSERT_EQ(pull.receive(), "x");
    }
}

// Whoever has waited has asked to be told of room that a reader makes; this is room of its own
// making.
TEST(hwm, a_mark_raised_after_a_wait_in_vain_makes_room_at_once) {
    for (const auto &[sending, receiving] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, std::pair{ZMQ_PAIR, ZMQ_PAIR}, std::pair{ZMQ_DEALER, ZMQ_ROUTER}}) {
        SCOPED_TRACE(sending);
        context zmq;
        test_socket reader = zmq.socket(receiving);
        test_socket sender = zmq.socket(sending);
        reader.set(ZMQ_RCVHWM, 1);
        sender.set(ZMQ_SNDHWM, 1);
        connected(zmq, reader, sender, "inproc");
        ASSERT_EQ(sent_until_full(sender), 2);
        sender.set(ZMQ_SNDTIMEO, 1);
        EXPECT_FAILS(EAGAIN, sender.send("x"));
        sender.set(ZMQ_SNDHWM, 4);
        EXPECT_EQ(sent_until_full(sender), 3);
    }
}

TEST(hwm, a_publisher_drops_what_does_not_fit) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_SNDHWM, 5);
    sub.set(ZMQ_RCVHWM, 5);
    sub.set(ZMQ_SUBSCRIBE, "");
    connected(zmq, pub, sub, "inproc");
    ASSERT_EQ(pub.receive(), std::string("\1", 1));
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(pub.send("x"), 1);
    int count = 0;
    while (sub.receive(ZMQ_DONTWAIT))
        ++count;
    EXPECT_EQ(count, 10);
}

TEST(hwm, a_slow_subscriber_does_not_stop_another) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket slow = zmq.socket(ZMQ_SUB);
    test_socket fast = zmq.socket(ZMQ_SUB);
    pub.set(ZMQ_SNDHWM, 1);
    slow.set(ZMQ_RCVHWM, 1);
    slow.set(ZMQ_SUBSCRIBE, "");
    fast.set(ZMQ_SUBSCRIBE, "x");
    const std::string endpoint = connected(zmq, pub, slow, "inproc");
    fast.connect(endpoint);
    ASSERT_TRUE(pub.receive());
    ASSERT_TRUE(pub.receive());
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(pub.send("x"), 1);
        EXPECT_EQ(fast.receive(), "x");
    }
}

class exactly_at_the_mark : public ::testing::TestWithParam<std::string> {
protected:
    context zmq;
};

TEST_P(exactly_at_the_mark, a_socket_notices_that_its_peer_has_gone_and_sends_to_those_that_are_there) {
    test_socket ours = zmq.socket(ZMQ_DEALER);
    test_socket living = zmq.socket(ZMQ_DEALER);
    test_socket gone = zmq.socket(ZMQ_DEALER);
    ours.set(ZMQ_RCVHWM, 1);
    const std::string endpoint = connected(zmq, ours, gone, GetParam());
    EXPECT_EQ(gone.send("last words"), 10);
    ASSERT_TRUE(ours.has_input());
    monitor events(zmq, ours, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    living.connect(endpoint);
    EXPECT_EQ(events.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    gone.close();
    ASSERT_EQ(events.next().event, ZMQ_EVENT_DISCONNECTED);
    // The one I/O thread has made an end with that peer before it makes another connection.
    test_socket a = zmq.socket(ZMQ_PAIR), b = zmq.socket(ZMQ_PAIR);
    connected(zmq, a, b, GetParam());
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(ours.send("x"), 1);
    for (int i = 0; i < 6; ++i)
        EXPECT_EQ(living.receive(), "x");
    EXPECT_EQ(ours.receive(), "last words");
}

INSTANTIATE_TEST_SUITE_P(transports, exactly_at_the_mark, ::testing::ValuesIn(network_transports()),
                         transport_name);

}  // namespace
