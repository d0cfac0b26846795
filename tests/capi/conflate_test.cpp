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
