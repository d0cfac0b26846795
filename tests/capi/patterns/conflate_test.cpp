// Conflation: a queue that keeps the last message only.
#include "sockets.hpp"

namespace {

using namespace zlink_test;

TEST(conflate, a_receiver_sees_the_last_message_only) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(pull.set(ZMQ_CONFLATE, 1), 0);
    EXPECT_EQ(pull.get(ZMQ_CONFLATE), 1);
    connected(zmq, push, pull, "inproc");
    for (int i = 0; i < 20; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    EXPECT_EQ(pull.receive(), "19");
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
    push.send("next");
    EXPECT_EQ(pull.receive(), "next");
}

TEST(conflate, what_comes_after_a_poll_takes_the_place_of_what_was_there) {
    for (const auto &[sending, receiving] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, std::pair{ZMQ_PUB, ZMQ_SUB}, std::pair{ZMQ_DEALER, ZMQ_DEALER}}) {
        SCOPED_TRACE(sending);
        context zmq;
        test_socket to = zmq.socket(receiving);
        test_socket from = zmq.socket(sending);
        ASSERT_EQ(to.set(ZMQ_CONFLATE, 1), 0);
        if (receiving == ZMQ_SUB)
            to.set(ZMQ_SUBSCRIBE, "");
        connected(zmq, from, to, "inproc");
        for (int i = 0; i < 20; ++i) {
            ASSERT_NE(from.send(std::to_string(i)), -1);
            ASSERT_EQ(to.get(ZMQ_EVENTS) & ZMQ_POLLIN, ZMQ_POLLIN);
        }
        // A SUB that was seen to have a message it wants keeps that: the newest may be none.
        if (receiving == ZMQ_SUB) {
            EXPECT_EQ(to.receive(), "0");
        }
        EXPECT_EQ(to.receive(), "19");
        EXPECT_FALSE(to.receive(ZMQ_DONTWAIT));
        ASSERT_NE(from.send("next"), -1);
        EXPECT_EQ(to.receive(), "next");
    }
}

TEST(conflate, a_subscriber_keeps_what_it_wants_when_what_is_newer_is_unwanted) {
    context zmq;
    test_socket to = zmq.socket(ZMQ_SUB);
    test_socket from = zmq.socket(ZMQ_PUB);
    ASSERT_EQ(to.set(ZMQ_CONFLATE, 1), 0);
    to.set(ZMQ_SUBSCRIBE, "a");
    to.set(ZMQ_SUBSCRIBE, "b");
    connected(zmq, from, to, "inproc");
    ASSERT_NE(from.send("a"), -1);
    ASSERT_EQ(to.get(ZMQ_EVENTS) & ZMQ_POLLIN, ZMQ_POLLIN);
    ASSERT_NE(from.send("b"), -1);
    to.set(ZMQ_UNSUBSCRIBE, "b");
    ASSERT_EQ(to.get(ZMQ_EVENTS) & ZMQ_POLLIN, ZMQ_POLLIN);
    EXPECT_EQ(to.receive(ZMQ_DONTWAIT), "a");
    EXPECT_FALSE(to.receive(ZMQ_DONTWAIT));
}

TEST(conflate, leaves_types_alone_that_count_on_all_of_a_message) {
    for (const auto &[sending, receiving] :
         {std::pair{ZMQ_REQ, ZMQ_REP}, std::pair{ZMQ_PAIR, ZMQ_PAIR}, std::pair{ZMQ_XPUB, ZMQ_XSUB}}) {
        for (const char *transport : {"tcp", "inproc"}) {
            SCOPED_TRACE(sending);
            SCOPED_TRACE(transport);
            context zmq;
            test_socket to = zmq.socket(receiving);
            test_socket from = zmq.socket(sending);
            ASSERT_EQ(to.set(ZMQ_CONFLATE, 1), 0);
            ASSERT_EQ(from.set(ZMQ_CONFLATE, 1), 0);
            connected(zmq, to, from, transport);
            if (sending == ZMQ_XPUB) {
                ASSERT_EQ(to.send(std::string("\1", 1)), 1);
                ASSERT_EQ(from.receive(), std::string("\1", 1));
            }
            ASSERT_TRUE(from.send_all({"first", "second"}));
            EXPECT_EQ(to.receive_all(), (frames{"first", "second"}));
        }
    }
}

TEST(conflate, over_tcp_the_last_message_always_arrives) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(pull.set(ZMQ_CONFLATE, 1), 0);
    connected(zmq, pull, push, "tcp");
    for (int i = 0; i < 1000; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    int last = -1;
    int received = 0;
    while (last != 999) {
        const std::optional<std::string> found = pull.receive();
        ASSERT_TRUE(found);
        EXPECT_GT(std::stoi(*found), last);
        last = std::stoi(*found);
        ++received;
    }
    EXPECT_LE(received, 1000);
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
}

TEST(conflate, a_sender_without_a_peer_keeps_the_last_message) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_CONFLATE, 1), 0);
    const std::string endpoint = deserted_endpoint();
    push.connect(endpoint);
    for (int i = 0; i < 20; ++i)
        ASSERT_NE(push.send(std::to_string(i), ZMQ_DONTWAIT), -1);
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(endpoint);
    EXPECT_EQ(pull.receive(), "19");
}

}  // namespace
