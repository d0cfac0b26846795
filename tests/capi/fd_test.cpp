// ZMQ_FD: what makes it readable, for those who wait on it in a loop of their own.
#include "sockets.hpp"

#include <poll.h>
#include <string>
#include <thread>

namespace {

using namespace zlink_test;

bool is_readable(int fd, int timeout_ms) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, timeout_ms) == 1;
}

struct watched_socket {
    watched_socket(context &zmq, int type) : self(zmq.socket(type)), fd(self.get(ZMQ_FD)) {}
    /// Asks for the events until the descriptor is quiet.
    bool calms_down() {
        return eventually([&] {
            (void)self.get(ZMQ_EVENTS);
            return !is_readable(fd, 0);
        });
    }
    test_socket self;
    int fd;
};

struct descriptor : testing::TestWithParam<std::string> {};

TEST_P(descriptor, tells_that_a_peer_came_and_that_it_went) {
    context zmq;
    for (const auto &[type, other] : {std::pair{ZMQ_PUSH, ZMQ_PULL},
                                      {ZMQ_PULL, ZMQ_PUSH},
                                      {ZMQ_REP, ZMQ_REQ},
                                      {ZMQ_PUB, ZMQ_SUB},
                                      {ZMQ_ROUTER, ZMQ_DEALER},
                                      {ZMQ_PAIR, ZMQ_PAIR}}) {
        watched_socket one(zmq, type);
        const std::string endpoint = one.self.bind(scratch_endpoint(GetParam()));
        ASSERT_TRUE(one.calms_down());
        test_socket peer = zmq.socket(other);
        peer.connect(endpoint);
        EXPECT_TRUE(is_readable(one.fd, patience_ms)) << type << " when it came";
        ASSERT_TRUE(one.calms_down());
        peer.close();
        EXPECT_TRUE(is_readable(one.fd, patience_ms)) << type << " when it went";
    }
}

TEST_P(descriptor, stays_readable_whatever_else_is_asked_or_set_meanwhile) {
    context zmq;
    watched_socket sub(zmq, ZMQ_SUB);
    const std::string endpoint = sub.self.bind(scratch_endpoint(GetParam()));
    ASSERT_TRUE(sub.calms_down());
    test_socket pub = zmq.socket(ZMQ_PUB);
    pub.connect(endpoint);
    ASSERT_TRUE(is_readable(sub.fd, patience_ms));
    const auto is_still = [&] { return is_readable(sub.fd, 0); };
    EXPECT_EQ(sub.self.get(ZMQ_FD), sub.fd);
    EXPECT_TRUE(is_still()) << "the descriptor was asked for again";
    (void)sub.self.get(ZMQ_RCVMORE);
    (void)sub.self.get(ZMQ_TYPE);
    (void)sub.self.last_endpoint();
    EXPECT_TRUE(is_still()) << "other options were asked for";
    (void)sub.self.set(ZMQ_LINGER, 0);
    EXPECT_EQ(sub.self.set(ZMQ_SUBSCRIBE, "topic"), 0);
    EXPECT_TRUE(is_still()) << "options were set";
    const std::string another = sub.self.bind(scratch_endpoint(GetParam()));
    EXPECT_EQ(sub.self.unbind(another), 0);
    EXPECT_TRUE(is_still()) << "it was bound and unbound";
    EXPECT_TRUE(sub.calms_down());
}

/// As a loop of coroutines does it: polls without waiting, and waits on the descriptor.
bool hears_of(watched_socket &one, short event, short asked_for) {
    for (;;) {
        zmq_pollitem_t item{one.self.handle(), 0, asked_for, 0};
        EXPECT_GE(zmq_poll(&item, 1, 0), 0);
        if (item.revents & event)
            return true;
        if (!is_readable(one.fd, patience_ms))
            return false;
    }
}

TEST_P(descriptor, tells_of_a_message_that_a_poll_without_waiting_has_not_found) {
    context zmq;
    for (const auto &[type, other] : {std::pair{ZMQ_PULL, ZMQ_PUSH},
                                      {ZMQ_REP, ZMQ_REQ},
                                      {ZMQ_ROUTER, ZMQ_DEALER},
                                      {ZMQ_PAIR, ZMQ_PAIR}}) {
        for (const short asked_for : {ZMQ_POLLIN, ZMQ_POLLIN | ZMQ_POLLOUT}) {
            test_socket peer = zmq.socket(other);
            const std::string endpoint = peer.bind(scratch_endpoint(GetParam()));
            watched_socket one(zmq, type);
            one.self.connect(endpoint);
            zmq_pollitem_t item{one.self.handle(), 0, asked_for, 0};
            ASSERT_GE(zmq_poll(&item, 1, 0), 0);
            ASSERT_EQ(item.revents & ZMQ_POLLIN, 0);
            std::thread sender([&] { EXPECT_EQ(peer.send("hello"), 5); });
            EXPECT_TRUE(hears_of(one, ZMQ_POLLIN, asked_for)) << type << " asked for " << asked_for;
            sender.join();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(over, descriptor, testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &each) { return each.param; });

}  // namespace
