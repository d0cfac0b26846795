// zmq_poller_*: the draft interface for watching many sockets and descriptors.
#include "descriptors.hpp"
#include "sockets.hpp"

#include <thread>

namespace {

using namespace zlink_test;

TEST(poller, reports_the_socket_and_its_user_data) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    owned_poller poller;
    int tag = 0;
    EXPECT_EQ(zmq_poller_add(poller.get(), pull.handle(), &tag, ZMQ_POLLIN), 0);
    EXPECT_EQ(zmq_poller_size(poller.get()), 1);
    zmq_poller_event_t event{};
    EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
    push.send("x");
    ASSERT_EQ(zmq_poller_wait(poller.get(), &event, -1), 0);
    EXPECT_EQ(event.socket, pull.handle());
    EXPECT_EQ(event.user_data, &tag);
    EXPECT_EQ(event.events, ZMQ_POLLIN);
}

TEST(poller, reports_several_at_once) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket peer = zmq.socket(ZMQ_PAIR);
    connected(zmq, bound, peer, "inproc");
    pipe_pair descriptor;
    descriptor.write();
    owned_poller poller;
    EXPECT_EQ(zmq_poller_add(poller.get(), bound.handle(), nullptr, ZMQ_POLLIN), 0);
    EXPECT_EQ(zmq_poller_add_fd(poller.get(), descriptor.reader(), nullptr, ZMQ_POLLIN), 0);
    peer.send("x");
    zmq_poller_event_t events[2] = {};
    EXPECT_TRUE(eventually([&] { return zmq_poller_wait_all(poller.get(), events, 2, patience_ms) == 2; }));
    EXPECT_EQ(zmq_poller_remove_fd(poller.get(), descriptor.reader()), 0);
    EXPECT_EQ(zmq_poller_wait_all(poller.get(), events, 2, 0), 1);
}

TEST(poller, refuses_what_it_has_or_has_not) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    owned_poller poller;
    EXPECT_FAILS(EINVAL, zmq_poller_modify(poller.get(), any.handle(), ZMQ_POLLIN));
    EXPECT_FAILS(EINVAL, zmq_poller_remove(poller.get(), any.handle()));
    EXPECT_EQ(zmq_poller_add(poller.get(), any.handle(), nullptr, ZMQ_POLLIN), 0);
    EXPECT_FAILS(EINVAL, zmq_poller_add(poller.get(), any.handle(), nullptr, ZMQ_POLLIN));
    EXPECT_FAILS(ENOTSOCK, zmq_poller_add(poller.get(), nullptr, nullptr, ZMQ_POLLIN));
    EXPECT_FAILS(EBADF, zmq_poller_add_fd(poller.get(), -1, nullptr, ZMQ_POLLIN));
    EXPECT_EQ(zmq_poller_modify(poller.get(), any.handle(), ZMQ_POLLOUT), 0);
    EXPECT_EQ(zmq_poller_remove(poller.get(), any.handle()), 0);
    EXPECT_EQ(zmq_poller_size(poller.get()), 0);
}

TEST(poller, without_anything_to_watch_does_not_wait_for_ever) {
    owned_poller poller;
    zmq_poller_event_t event{};
    EXPECT_FAILS(EFAULT, zmq_poller_wait(poller.get(), &event, -1));
    EXPECT_FAILS(EFAULT, zmq_poller_wait_all(poller.get(), &event, 1, -1));
    EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 0));
}

TEST(poller, without_an_event_to_watch_for_does_not_wait_for_ever) {
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR);
    pipe_pair descriptor;
    owned_poller poller;
    ASSERT_EQ(zmq_poller_add(poller.get(), pair.handle(), nullptr, ZMQ_POLLIN), 0);
    ASSERT_EQ(zmq_poller_add_fd(poller.get(), descriptor.reader(), nullptr, 0), 0);
    ASSERT_EQ(zmq_poller_modify(poller.get(), pair.handle(), 0), 0);
    zmq_poller_event_t event{};
    EXPECT_FAILS(EFAULT, zmq_poller_wait(poller.get(), &event, -1));
    EXPECT_FAILS(EFAULT, zmq_poller_wait_all(poller.get(), &event, 1, -1));
    EXPECT_FAILS(EAGAIN, zmq_poller_wait(poller.get(), &event, 1));

    // One is enough.
    ASSERT_EQ(zmq_poller_modify_fd(poller.get(), descriptor.reader(), ZMQ_POLLIN), 0);
    descriptor.write();
    EXPECT_EQ(zmq_poller_wait(poller.get(), &event, -1), 0);
}

TEST(poller, is_not_mistaken_for_something_else) {
    zmq_poller_event_t event{};
    void *nothing = nullptr;
    EXPECT_FAILS(EFAULT, zmq_poller_wait(nullptr, &event, 0));
    EXPECT_FAILS(EFAULT, zmq_poller_destroy(&nothing));
    EXPECT_FAILS(EFAULT, zmq_poller_size(nullptr));
}

TEST(poller, is_woken_by_another_thread) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "inproc");
    owned_poller poller;
    ASSERT_EQ(zmq_poller_add(poller.get(), pull.handle(), nullptr, ZMQ_POLLIN), 0);
    std::thread sender([&] { push.send("x"); });
    zmq_poller_event_t event{};
    EXPECT_EQ(zmq_poller_wait(poller.get(), &event, -1), 0);
    sender.join();
}

}  // namespace
