// ZMQ_FD: what makes it readable, for those who wait on it in a loop of their own.
#include "transports.hpp"

#include <chrono>
#include <poll.h>
#include <random>
#include <string>
#include <thread>

namespace {

using namespace zlink_test;

bool is_readable(int fd, int timeout_ms) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, timeout_ms) == 1;
}

struct watched_socket {
    explicit watched_socket(test_socket which) : self(std::move(which)), fd(self.get(ZMQ_FD)) {}
    watched_socket(context &zmq, int type) : watched_socket(zmq.socket(type)) {}
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

/// This is as a loop of coroutines does it: polls without waiting, and waits on the descriptor.
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

/// This is as a loop of coroutines does it that waits on the descriptor already: asks for the
/// events only when that is readable.
bool wakes_for(watched_socket &one, short event) {
    do {
        if (!is_readable(one.fd, patience_ms))
            return false;
    } while (!(one.self.get(ZMQ_EVENTS) & event));
    return true;
}

TEST_P(descriptor, says_at_once_what_the_application_itself_has_done) {
    context zmq;
    for (const int type : {ZMQ_PULL, ZMQ_PUSH, ZMQ_PUB, ZMQ_SUB, ZMQ_XPUB, ZMQ_DEALER, ZMQ_ROUTER, ZMQ_REQ,
                           ZMQ_REP, ZMQ_PAIR}) {
        watched_socket one(zmq, type);
        const std::string there = lasting_endpoint(GetParam());
        EXPECT_TRUE(is_readable(one.fd, 0)) << type << " asked for its descriptor";
        ASSERT_TRUE(one.calms_down());
        one.self.connect(there);
        EXPECT_TRUE(is_readable(one.fd, 0)) << type << " connected";
        ASSERT_TRUE(one.calms_down());
        EXPECT_EQ(one.self.disconnect(there), 0);
        EXPECT_TRUE(is_readable(one.fd, 0)) << type << " disconnected";
        ASSERT_TRUE(one.calms_down());
        const std::string here = one.self.bind(scratch_endpoint(GetParam()));
        EXPECT_TRUE(is_readable(one.fd, 0)) << type << " bound";
        ASSERT_TRUE(one.calms_down());
        EXPECT_EQ(one.self.unbind(here), 0);
        EXPECT_TRUE(is_readable(one.fd, 0)) << type << " unbound";
    }
}

TEST_P(descriptor, wakes_for_a_message_that_comes_after_connecting) {
    context zmq;
    for (const auto &[type, other] : {std::pair{ZMQ_PULL, ZMQ_PUSH},
                                      {ZMQ_SUB, ZMQ_XPUB},
                                      {ZMQ_DEALER, ZMQ_DEALER},
                                      {ZMQ_PAIR, ZMQ_PAIR}}) {
        for (const bool reads_events : {false, true}) {
            test_socket peer = zmq.socket(other);
            const std::string endpoint = peer.bind(scratch_endpoint(GetParam()));
            watched_socket one(zmq, type);
            if (type == ZMQ_SUB)
                one.self.set(ZMQ_SUBSCRIBE, "");
            if (reads_events) {
                ASSERT_TRUE(one.calms_down());
            }
            one.self.connect(endpoint);
            if (type == ZMQ_SUB) {
                ASSERT_EQ(peer.receive(), "\1");
            }
            ASSERT_EQ(peer.send("hello"), 5);
            EXPECT_TRUE(wakes_for(one, ZMQ_POLLIN)) << type << (reads_events ? " has read its events" : "");
            while (one.self.receive(ZMQ_DONTWAIT)) {
            }
            ASSERT_EQ(peer.send("world"), 5);
            EXPECT_TRUE(wakes_for(one, ZMQ_POLLIN)) << type << " got a message before";
        }
    }
}

TEST_P(descriptor, wakes_for_the_first_message_even_if_it_was_asked_for_after_connecting) {
    context zmq;
    for (const auto &[type, other] :
         {std::pair{ZMQ_PULL, ZMQ_PUSH}, {ZMQ_DEALER, ZMQ_DEALER}, {ZMQ_PAIR, ZMQ_PAIR}}) {
        test_socket peer = zmq.socket(other);
        const std::string endpoint = peer.bind(scratch_endpoint(GetParam()));
        test_socket self = zmq.socket(type);
        self.connect(endpoint);
        (void)self.get(ZMQ_EVENTS);
        watched_socket one(std::move(self));
        ASSERT_EQ(peer.send("hello"), 5);
        EXPECT_TRUE(wakes_for(one, ZMQ_POLLIN)) << type;
    }
}

TEST_P(descriptor, wakes_for_room_that_connecting_makes) {
    context zmq;
    for (const auto &[type, other] :
         {std::pair{ZMQ_PUSH, ZMQ_PULL}, {ZMQ_DEALER, ZMQ_DEALER}, {ZMQ_PAIR, ZMQ_PAIR}}) {
        for (const bool is_immediate : {false, true}) {
            test_socket peer = zmq.socket(other);
            const std::string endpoint = peer.bind(scratch_endpoint(GetParam()));
            watched_socket one(zmq, type);
            one.self.set(ZMQ_IMMEDIATE, is_immediate);
            EXPECT_FAILS(EAGAIN, one.self.send("x", ZMQ_DONTWAIT));
            ASSERT_TRUE(one.calms_down());
            one.self.connect(endpoint);
            ASSERT_TRUE(wakes_for(one, ZMQ_POLLOUT)) << type << (is_immediate ? " immediate" : "");
            EXPECT_EQ(one.self.send("x", ZMQ_DONTWAIT), 1);
            EXPECT_EQ(peer.receive(), "x");
        }
    }
}

TEST_P(descriptor, wakes_for_a_subscription) {
    context zmq;
    watched_socket pub(zmq, ZMQ_XPUB);
    const std::string endpoint = pub.self.bind(scratch_endpoint(GetParam()));
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.connect(endpoint);
    for (const char *topic : {"one", "another"}) {
        ASSERT_EQ(sub.set(ZMQ_SUBSCRIBE, topic), 0);
        ASSERT_TRUE(wakes_for(pub, ZMQ_POLLIN)) << topic;
        EXPECT_EQ(pub.self.receive(ZMQ_DONTWAIT), std::string("\1") + topic);
        EXPECT_EQ(pub.self.get(ZMQ_EVENTS) & ZMQ_POLLIN, 0);
    }
}

/// One side of a talk, with a loop that does not always do the same: it asks for the events, or
/// receives until there is nothing, or waits in the call, and may be away for longer than a lease
/// lasts.
class talker {
public:
    talker(watched_socket &self, unsigned seed) : self_(self), random_(seed) {}

    /// False when nothing has come for long.
    bool receive(frames &out) {
        for (;;) {
            if (chance(3))
                std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 12));
            const int flags = chance(2) ? 0 : ZMQ_DONTWAIT;
            if (chance(50) && !(self_.self.get(ZMQ_EVENTS) & ZMQ_POLLIN)) {
                if (!is_readable(self_.fd, patience_ms))
                    return false;
                continue;
            }
            out = self_.self.receive_all(flags);
            if (!out.empty())
                return true;
            if (flags == 0 || zmq_errno() != EAGAIN || !is_readable(self_.fd, patience_ms))
                return false;
        }
    }
    bool chance(unsigned of_hundred) { return random_() % 100 < of_hundred; }

private:
    watched_socket &self_;
    std::minstd_rand random_;
};

TEST_P(descriptor, carries_a_long_talk_of_loops_of_any_kind) {
    constexpr int rounds = 1500;
    context zmq;
    watched_socket server(zmq, ZMQ_ROUTER);
    watched_socket client(zmq, ZMQ_DEALER);
    client.self.connect(server.self.bind(scratch_endpoint(GetParam())));
    std::thread serving([&] {
        talker self(server, 1);
        frames got;
        for (int i = 0; i < rounds; ++i) {
            ASSERT_TRUE(self.receive(got)) << "question " << i;
            ASSERT_TRUE(server.self.send_all(got));
        }
    });
    talker self(client, 2);
    frames got;
    for (int next = 0, answered = 0; answered < rounds; ++answered) {
        while (next < rounds && (next == answered || (next < answered + 4 && self.chance(30))))
            ASSERT_TRUE(client.self.send_all({std::to_string(next++)}));
        if (!self.receive(got)) {
            ADD_FAILURE() << "answer " << answered;
            break;
        }
        EXPECT_EQ(got, frames{std::to_string(answered)});
    }
    serving.join();
}

// A poll over both: what the one takes in is what the other says.
TEST_P(descriptor, shows_itself_in_a_poll_of_its_socket) {
    context zmq;
    test_socket peer = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = peer.bind(scratch_endpoint(GetParam()));
    watched_socket pull(zmq, ZMQ_PULL);
    ASSERT_TRUE(pull.calms_down());
    pull.self.connect(endpoint);
    zmq_pollitem_t items[] = {{pull.self.handle(), 0, ZMQ_POLLIN, 0}, {nullptr, pull.fd, ZMQ_POLLIN, 0}};
    EXPECT_EQ(zmq_poll(items, 2, patience_ms), 1);
    EXPECT_EQ(items[0].revents, 0);
    EXPECT_EQ(items[1].revents, ZMQ_POLLIN);
}

INSTANTIATE_TEST_SUITE_P(over, descriptor,
                         testing::ValuesIn(where_built({"tcp", "ipc", "inproc", "ws", "tls"})),
                         [](const auto &each) { return each.param; });

}  // namespace
