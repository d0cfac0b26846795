// zmq_poll over sockets and descriptors, and the descriptor of a socket (ZMQ_FD) with its events
// (ZMQ_EVENTS).
#include "descriptors.hpp"
#include "job_control.hpp"
#include "sockets.hpp"

#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

using namespace zlink_test;

TEST(poll, nothing_at_all_only_waits) {
    EXPECT_EQ(zmq_poll(nullptr, 0, 0), 0);
    EXPECT_EQ(zmq_poll(nullptr, 0, 10), 0);
}

TEST(poll, items_without_memory_are_a_fault) { EXPECT_FAILS(EFAULT, zmq_poll(nullptr, 1, 0)); }

TEST(poll, tells_input_and_room_apart) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_PAIR);
    test_socket peer = zmq.socket(ZMQ_PAIR);
    connected(zmq, bound, peer, "inproc");
    zmq_pollitem_t item{bound.handle(), 0, ZMQ_POLLIN | ZMQ_POLLOUT, 0};
    ASSERT_EQ(zmq_poll(&item, 1, 0), 1);
    EXPECT_EQ(item.revents, ZMQ_POLLOUT);
    peer.send("x");
    ASSERT_EQ(zmq_poll(&item, 1, patience_ms), 1);
    EXPECT_EQ(item.revents, ZMQ_POLLIN | ZMQ_POLLOUT);
    item.events = ZMQ_POLLIN;
    ASSERT_EQ(zmq_poll(&item, 1, 0), 1);
    EXPECT_EQ(item.revents, ZMQ_POLLIN);
    bound.receive();
    EXPECT_EQ(zmq_poll(&item, 1, 0), 0);
    EXPECT_EQ(item.revents, 0);
}

TEST(poll, ends_after_its_time) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(scratch_endpoint("tcp"));
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(pull.has_input(50));
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(45));
}

class poll_over : public ::testing::TestWithParam<const char *> {};

TEST_P(poll_over, is_woken_by_a_message) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, GetParam());
    for (int i = 0; i < 50; ++i) {
        std::thread sender([&] { push.send("wake"); });
        EXPECT_TRUE(pull.has_input(-1));
        sender.join();
        EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), "wake");
        EXPECT_FALSE(pull.has_input(0));
    }
}

// The last of many quick waits leaves the connection with the thread that waited.
TEST_P(poll_over, for_room_ends_in_time_where_something_else_than_room_is_missing) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP);
    test_socket req = zmq.socket(ZMQ_REQ);
    connected(zmq, rep, req, GetParam());
    constexpr int round_trips = 100;
    std::thread server([&] {
        for (int i = 0; i < round_trips; ++i) {
            EXPECT_EQ(rep.receive(0), "question");
            EXPECT_EQ(rep.send("answer", 0), 6);
        }
    });
    for (int i = 0; i < round_trips; ++i) {
        EXPECT_EQ(req.send("question", 0), 8);
        EXPECT_EQ(req.receive(0), "answer");
    }
    server.join();
    ASSERT_EQ(req.send("question", 0), 8);
    zmq_pollitem_t item{req.handle(), 0, ZMQ_POLLOUT, 0};
    EXPECT_EQ(zmq_poll(&item, 1, 20), 0) << "the answer is missing";
    EXPECT_EQ(rep.receive(0), "question");
    ASSERT_EQ(rep.send("answer", 0), 6);
    EXPECT_EQ(req.receive(0), "answer");
    item = {rep.handle(), 0, ZMQ_POLLOUT, 0};
    EXPECT_EQ(zmq_poll(&item, 1, 20), 0) << "the question is missing";
}

INSTANTIATE_TEST_SUITE_P(transports, poll_over, ::testing::Values("tcp", "ipc", "inproc"));

TEST(poll, watches_sockets_and_descriptors_together) {
    context zmq;
    test_socket tcp_pull = zmq.socket(ZMQ_PULL);
    test_socket tcp_push = zmq.socket(ZMQ_PUSH);
    test_socket inproc_pull = zmq.socket(ZMQ_PULL);
    test_socket inproc_push = zmq.socket(ZMQ_PUSH);
    pipe_pair descriptor;
    connected(zmq, tcp_pull, tcp_push, "tcp");
    connected(zmq, inproc_pull, inproc_push, "inproc");
    zmq_pollitem_t items[] = {
        {tcp_pull.handle(), 0, ZMQ_POLLIN, 0},
        {inproc_pull.handle(), 0, ZMQ_POLLIN, 0},
        {nullptr, descriptor.reader(), ZMQ_POLLIN, 0},
        {nullptr, descriptor.writer(), ZMQ_POLLOUT, 0},
    };
    ASSERT_EQ(zmq_poll(items, 3, 0), 0);
    EXPECT_EQ(zmq_poll(items, 4, patience_ms), 1);
    EXPECT_EQ(items[3].revents, ZMQ_POLLOUT);
    descriptor.write();
    EXPECT_EQ(zmq_poll(items, 3, patience_ms), 1);
    EXPECT_EQ(items[2].revents, ZMQ_POLLIN);
    inproc_push.send("x");
    EXPECT_EQ(zmq_poll(items, 3, patience_ms), 2);
    EXPECT_EQ(items[1].revents, ZMQ_POLLIN);
    tcp_push.send("x");
    EXPECT_TRUE(eventually([&] { return zmq_poll(items, 3, patience_ms) == 3; }));
    EXPECT_EQ(items[0].revents, ZMQ_POLLIN);
}

TEST(poll, is_woken_by_a_descriptor_while_sockets_are_idle) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, "tcp");
    pipe_pair descriptor;
    zmq_pollitem_t items[] = {{pull.handle(), 0, ZMQ_POLLIN, 0},
                              {nullptr, descriptor.reader(), ZMQ_POLLIN, 0}};
    std::thread writer([&] { descriptor.write(); });
    EXPECT_EQ(zmq_poll(items, 2, -1), 1);
    EXPECT_EQ(items[0].revents, 0);
    EXPECT_EQ(items[1].revents, ZMQ_POLLIN);
    writer.join();
}

TEST(poll, is_woken_by_the_end_of_the_context) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(scratch_endpoint("tcp"));
    std::thread ends([&] { zmq.shutdown(); });
    zmq_pollitem_t item{pull.handle(), 0, ZMQ_POLLIN, 0};
    EXPECT_FAILS(ETERM, zmq_poll(&item, 1, -1));
    ends.join();
}

// The descriptor signals that the events may have changed; a program looks at them until there is
// nothing left.
TEST_P(poll_over, a_sockets_descriptor_signals_input) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    connected(zmq, pull, push, GetParam());
    const int fd = pull.get(ZMQ_FD);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(pull.get(ZMQ_FD), fd);
    for (int i = 0; i < 100; ++i) {
        while (pull.get(ZMQ_EVENTS) & ZMQ_POLLIN)
            pull.receive(ZMQ_DONTWAIT);
        ASSERT_EQ(push.send(std::to_string(i)), static_cast<int>(std::to_string(i).size()));
        while (!(pull.get(ZMQ_EVENTS) & ZMQ_POLLIN))
            ASSERT_TRUE(is_readable(fd, patience_ms)) << i;
        EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), std::to_string(i));
    }
}

TEST(poll, a_sockets_descriptor_signals_room) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    pull.set(ZMQ_RCVHWM, 1);
    push.set(ZMQ_SNDHWM, 1);
    connected(zmq, pull, push, "inproc");
    const int fd = push.get(ZMQ_FD);
    while (push.get(ZMQ_EVENTS) & ZMQ_POLLOUT)
        ASSERT_EQ(push.send("x", ZMQ_DONTWAIT), 1);
    EXPECT_FALSE(is_readable(fd, 0));
    while (pull.receive(ZMQ_DONTWAIT)) {
    }
    while (!(push.get(ZMQ_EVENTS) & ZMQ_POLLOUT))
        ASSERT_TRUE(is_readable(fd, patience_ms));
    EXPECT_EQ(push.send("x", ZMQ_DONTWAIT), 1);
}

TEST(poll, goes_on_after_the_process_was_stopped) {
    for (const int sockets : {1, 40}) {
        SCOPED_TRACE(sockets);
        context zmq;
        std::vector<test_socket> pulls;
        std::vector<zmq_pollitem_t> items;
        for (int i = 0; i < sockets; ++i) {
            pulls.push_back(zmq.socket(ZMQ_PULL));
            items.push_back({pulls.back().handle(), 0, ZMQ_POLLIN, 0});
        }
        test_socket push = zmq.socket(ZMQ_PUSH);
        connected(zmq, pulls.back(), push, "tcp");
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t self = ::getpid();
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            for (int i = 0; i < 20; ++i)
                if (!zlink::test::stop_and_continue(self))
                    ::_exit(1);
            ::_exit(::write(ends[1], "x", 1) == 1 ? 0 : 1);
        }
        std::thread sender([&] {
            char octet = 0;
            ssize_t size = -1;
            while ((size = ::read(ends[0], &octet, 1)) < 0 && errno == EINTR) {
            }
            EXPECT_EQ(size, 1);
            EXPECT_EQ(push.send("x"), 1);
        });
        EXPECT_EQ(zmq_poll(items.data(), static_cast<int>(items.size()), -1), 1) << zmq_strerror(errno);
        EXPECT_EQ(items.back().revents, ZMQ_POLLIN);
        sender.join();
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        ::close(ends[0]);
        ::close(ends[1]);
    }
}

}  // namespace
