// IMMEDIATE: whether messages may queue for a connection that is not there yet.
#include "sockets.hpp"

namespace {

using namespace zlink_test;

TEST(immediate, off_queues_for_a_peer_that_is_not_there) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    EXPECT_EQ(push.get(ZMQ_IMMEDIATE), 0);
    push.connect(deserted_endpoint());
    EXPECT_EQ(push.send("x", ZMQ_DONTWAIT), 1);
}

TEST(immediate, on_refuses_until_a_connection_is_complete) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    ASSERT_EQ(push.set(ZMQ_IMMEDIATE, 1), 0);
    push.connect(deserted_endpoint());
    EXPECT_FAILS(EAGAIN, push.send("x", ZMQ_DONTWAIT));
    EXPECT_FALSE(push.has_room(0));
}

TEST(immediate, on_sends_everything_to_the_peer_that_is_there) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_IMMEDIATE, 1);
    push.connect(deserted_endpoint());
    push.connect(pull.bind(scratch_endpoint("tcp")));
    for (int i = 0; i < 10; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(pull.receive(), std::to_string(i));
}

TEST(immediate, on_stops_sending_when_the_peer_goes) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_IMMEDIATE, 1);
    connected(zmq, pull, push, "tcp");
    ASSERT_EQ(push.send("one"), 3);
    ASSERT_EQ(pull.receive(), "one");
    monitor watch(zmq, push, ZMQ_EVENT_DISCONNECTED);
    pull.close();
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    EXPECT_TRUE(eventually([&] { return push.send("two", ZMQ_DONTWAIT) == -1 && zmq_errno() == EAGAIN; }));
}

TEST(immediate, on_leaves_what_is_unread_at_a_disconnect_to_be_read) {
    for (const char *transport : {"tcp", "ipc"}) {
        SCOPED_TRACE(transport);
        context zmq;
        test_socket ours = zmq.socket(ZMQ_DEALER);
        test_socket peer = zmq.socket(ZMQ_DEALER);
        ours.set(ZMQ_IMMEDIATE, 1);
        const std::string endpoint = connected(zmq, peer, ours, transport);
        EXPECT_EQ(peer.send("unread"), 6);
        ASSERT_TRUE(ours.has_input());
        EXPECT_EQ(ours.disconnect(endpoint), 0);
        EXPECT_EQ(ours.receive(), "unread");
        EXPECT_FAILS(ENOENT, ours.disconnect(endpoint));
    }
}

TEST(immediate, takes_only_zero_and_one) {
    context zmq;
    test_socket push = zmq.socket(ZMQ_PUSH);
    EXPECT_FAILS(EINVAL, push.set(ZMQ_IMMEDIATE, 2));
}

}  // namespace
