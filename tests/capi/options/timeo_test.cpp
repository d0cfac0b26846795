// Time limits of blocking calls, and calls that do not block.
#include "sockets.hpp"

#include <thread>

namespace {

using namespace zlink_test;

TEST(timeo, an_empty_socket_fails_at_once_when_it_may_not_wait) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    char byte;
    EXPECT_FAILS(EAGAIN, zmq_recv(pull.handle(), &byte, 1, ZMQ_DONTWAIT));
}

TEST(timeo, a_receive_ends_after_its_time) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(scratch_endpoint("tcp"));
    ASSERT_EQ(pull.set(ZMQ_RCVTIMEO, 50), 0);
    char byte;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FAILS(EAGAIN, zmq_recv(pull.handle(), &byte, 1, 0));
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(45));
}

TEST(timeo, a_send_ends_after_its_time) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.bind(scratch_endpoint("tcp"));
    ASSERT_EQ(push.set(ZMQ_SNDTIMEO, 50), 0);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FAILS(EAGAIN, push.send("x"));
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(45));
}

TEST(timeo, a_limit_of_zero_does_not_wait) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.set(ZMQ_RCVTIMEO, 0);
    char byte;
    EXPECT_FAILS(EAGAIN, zmq_recv(pull.handle(), &byte, 1, 0));
}

TEST(timeo, a_waiting_receive_is_woken_by_a_message) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVTIMEO, -1);
    connected(zmq, pull, push, "inproc");
    std::thread sender([&] { push.send("wake"); });
    EXPECT_EQ(pull.receive(), "wake");
    sender.join();
}

TEST(timeo, a_waiting_send_is_woken_by_a_reader) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 1);
    push.set(ZMQ_SNDHWM, 1);
    push.set(ZMQ_SNDTIMEO, -1);
    connected(zmq, pull, push, "inproc");
    std::thread sender([&] {
        for (int i = 0; i < 100; ++i)
            push.send(std::to_string(i));
    });
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(pull.receive(), std::to_string(i));
    sender.join();
}

TEST(timeo, a_waiting_send_is_woken_by_a_peer_that_connects) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = push.bind(scratch_endpoint("tcp"));
    std::thread receiver([&] {
        test_socket pull = zmq.socket(ZMQ_PULL);
        pull.connect(endpoint);
        EXPECT_EQ(pull.receive(), "welcome");
    });
    EXPECT_EQ(push.send("welcome"), 7);
    receiver.join();
}

TEST(timeo, options_are_read_back_and_checked) {
    context zmq;
    void *bare = zmq_socket(zmq.handle(), ZMQ_PULL);
    int value = 0;
    std::size_t size = sizeof value;
    EXPECT_EQ(zmq_getsockopt(bare, ZMQ_RCVTIMEO, &value, &size), 0);
    EXPECT_EQ(value, -1);
    EXPECT_EQ(zmq_getsockopt(bare, ZMQ_SNDTIMEO, &value, &size), 0);
    EXPECT_EQ(value, -1);
    value = -2;
    EXPECT_FAILS(EINVAL, zmq_setsockopt(bare, ZMQ_RCVTIMEO, &value, sizeof value));
    zmq_close(bare);
}

}  // namespace
