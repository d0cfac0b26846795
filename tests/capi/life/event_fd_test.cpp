// ZLINK_EVENT_FD and ZLINK_ROOM_FD: levels for loops that wait on descriptors and know no rituals.
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include "effort.hpp"
#include "sockets.hpp"
#include "transports.hpp"

namespace {

using namespace zlink_test;

bool is_up(int fd, int timeout_ms = 0) {
    pollfd item{fd, POLLIN, 0};
    return ::poll(&item, 1, timeout_ms) == 1;
}

class event_fd_over : public ::testing::TestWithParam<std::string> {
protected:
    std::string place() { return scratch_endpoint(GetParam()); }

    context zmq;
};
INSTANTIATE_TEST_SUITE_P(transports, event_fd_over, ::testing::ValuesIn(built_transports()), transport_name);

TEST_P(event_fd_over, is_readable_exactly_while_there_is_input) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    const int fd = pull.get(ZLINK_EVENT_FD);
    ASSERT_GE(fd, 0);
    EXPECT_FALSE(is_up(fd));
    push.connect(pull.bind(place()));
    EXPECT_EQ(zlink_wait_ready(pull.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    EXPECT_FALSE(is_up(fd)) << "a peer is no input";
    for (int i = 0; i < 3; ++i)
        ASSERT_EQ(push.send("task"), 4);
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(is_up(fd, patience_ms)) << i;
        EXPECT_TRUE(is_up(fd)) << "nobody has taken it";
        EXPECT_NE(pull.get(ZMQ_EVENTS) & ZMQ_POLLIN, 0);
        EXPECT_TRUE(is_up(fd)) << "to ask is not to take";
        EXPECT_EQ(pull.receive(ZMQ_DONTWAIT), "task");
    }
    EXPECT_FALSE(is_up(fd));
    EXPECT_EQ(pull.get(ZLINK_EVENT_FD), fd) << "it is one descriptor";
}

// A loop as anybody writes it: it takes one message each time, and never asks for events.
TEST_P(event_fd_over, wakes_a_level_triggered_epoll_for_each_message) {
    const int count = effort(2000, 200);
    test_socket router = zmq.socket(ZMQ_ROUTER);
    const int fd = router.get(ZLINK_EVENT_FD);
    const std::string endpoint = router.bind(place());
    const int loop = ::epoll_create1(EPOLL_CLOEXEC);
    epoll_event what{};
    what.events = EPOLLIN;
    ASSERT_EQ(::epoll_ctl(loop, EPOLL_CTL_ADD, fd, &what), 0);
    const auto feed = [&] {
        test_socket dealer = zmq.socket(ZMQ_DEALER);
        dealer.set(ZMQ_LINGER, -1);
        dealer.connect(endpoint);
        for (int i = 0; i < count; ++i) {
            EXPECT_TRUE(dealer.send_all({"two", "parts"}));
            if (i % 17 == 0)
                std::this_thread::yield();
        }
    };
    std::thread first(feed), second(feed);
    int received = 0;
    while (received < 2 * count) {
        ASSERT_EQ(::epoll_wait(loop, &what, 1, patience_ms), 1) << "behind " << received;
        const frames message = router.receive_all(ZMQ_DONTWAIT);
        received += message.size() == 3;
        ASSERT_TRUE(message.empty() || message.size() == 3);
    }
    first.join();
    second.join();
    // Peers that go make it readable until the next call, each when its connection ends.
    EXPECT_TRUE(eventually([&] {
        EXPECT_TRUE(router.receive_all(ZMQ_DONTWAIT).empty()) << "more than was sent";
        return !is_up(fd);
    }));
    ::close(loop);
}

TEST_P(event_fd_over, says_nothing_of_what_no_subscription_wants) {
    test_socket pub = zmq.socket(ZMQ_PUB), sub = zmq.socket(ZMQ_SUB);
    const int fd = sub.get(ZLINK_EVENT_FD);
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.connect(pub.bind(place()));
    ASSERT_EQ(zlink_wait_ready(pub.handle(), ZLINK_READY_SUBSCRIBERS, 1, patience_ms), 0);
    ASSERT_EQ(zlink_wait_ready(sub.handle(), ZLINK_READY_PEERS, 1, patience_ms), 0);
    pub.send("b is not wanted");
    pub.send("a is");
    EXPECT_TRUE(is_up(fd, patience_ms));
    EXPECT_EQ(sub.receive(ZMQ_DONTWAIT), "a is");
    EXPECT_FALSE(is_up(fd));
    pub.send("a once more");
    EXPECT_TRUE(is_up(fd, patience_ms));
    EXPECT_EQ(sub.set(ZMQ_UNSUBSCRIBE, "a"), 0);
    EXPECT_FALSE(is_up(fd)) << "it is not wanted any more";
}

// The body of a message outlives the look for the next one.
TEST_P(event_fd_over, leaves_bodies_of_any_size_whole) {
    test_socket pull = zmq.socket(ZMQ_PULL), push = zmq.socket(ZMQ_PUSH);
    const int fd = pull.get(ZLINK_EVENT_FD);
    push.connect(pull.bind(place()));
    const std::size_t sizes[] = {0, 30, 255, 4000, 4096, 9000, 70'000, 140'000, 600'000};
    std::vector<std::string> expected;
    for (int round = 0; round < 3; ++round)
        for (const std::size_t size : sizes) {
            expected.emplace_back(size, static_cast<char>('a' + expected.size() % 26));
            zmq_msg_t message;
            zmq_msg_init_size(&message, size);
            std::memcpy(zmq_msg_data(&message), expected.back().data(), size);
            ASSERT_EQ(zmq_msg_send(&message, push.handle(), 0), static_cast<int>(size));
        }
    std::string buffer(1'000'000, ' ');
    std::vector<zmq_msg_t> kept(expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        zmq_msg_init(&kept[i]);
        for (bool is_received = false; !is_received;) {
            ASSERT_TRUE(is_up(fd, patience_ms)) << i;
            const int size = i % 3 == 0 ? zmq_recv(pull.handle(), buffer.data(), buffer.size(), ZMQ_DONTWAIT)
                                        : zmq_msg_recv(&kept[i], pull.handle(), ZMQ_DONTWAIT);
            is_received = size >= 0;
            if (is_received && i % 3 == 0) {
                EXPECT_EQ(buffer.substr(0, static_cast<std::size_t>(size)), expected[i]) << i;
            }
        }
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (i % 3 != 0) {
            EXPECT_EQ(std::string(static_cast<char *>(zmq_msg_data(&kept[i])), zmq_msg_size(&kept[i])),
                      expected[i])
                << i;
        }
        zmq_msg_close(&kept[i]);
    }
    EXPECT_FALSE(is_up(fd));
}

TEST_P(event_fd_over, says_when_there_is_room) {
    test_socket push = zmq.socket(ZMQ_PUSH), pull = zmq.socket(ZMQ_PULL);
    push.set(ZMQ_SNDHWM, 2);
    pull.set(ZMQ_RCVHWM, 2);
    const int fd = push.get(ZLINK_ROOM_FD);
    ASSERT_GE(fd, 0);
    EXPECT_FALSE(is_up(fd)) << "nobody is there";
    pull.connect(push.bind(place()));
    EXPECT_TRUE(is_up(fd, patience_ms));
    const std::string body(1'000'000, 'x');
    int sent = 0;
    EXPECT_TRUE(eventually([&] {
        while (push.send(body, ZMQ_DONTWAIT) != -1)
            ++sent;
        return !is_up(fd, 100);
    }));
    int received = 0;
    while (received < sent) {
        received += pull.receive().has_value();
        while (sent < 50 && is_up(fd) && push.send(body, ZMQ_DONTWAIT) != -1)
            ++sent;
    }
    ASSERT_TRUE(is_up(fd, patience_ms));
    EXPECT_TRUE(eventually([&] { return push.send("room", ZMQ_DONTWAIT) == 4; }));
}

TEST(event_fd, follows_the_turns_of_a_replier) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP), one = zmq.socket(ZMQ_REQ), two = zmq.socket(ZMQ_REQ);
    const int fd = rep.get(ZLINK_EVENT_FD);
    const std::string endpoint = rep.bind(scratch_endpoint("inproc"));
    one.connect(endpoint);
    two.connect(endpoint);
    ASSERT_EQ(one.send("first"), 5);
    ASSERT_EQ(two.send("second"), 6);
    ASSERT_TRUE(is_up(fd));
    EXPECT_EQ(rep.receive(ZMQ_DONTWAIT), "first");
    EXPECT_FALSE(is_up(fd)) << "it has to reply first";
    EXPECT_EQ(rep.send("done"), 4);
    EXPECT_TRUE(is_up(fd));
    EXPECT_EQ(rep.receive(ZMQ_DONTWAIT), "second");
}

// An option may make room where no message has gone: nothing else tells of it.
TEST(event_fd, says_that_an_option_has_made_room) {
    context zmq;
    test_socket rep = zmq.socket(ZMQ_REP), req = zmq.socket(ZMQ_REQ), router = zmq.socket(ZMQ_ROUTER),
                xpub = zmq.socket(ZMQ_XPUB), pub = zmq.socket(ZMQ_PUB), raw = zmq.socket(ZMQ_ROUTER);
    req.connect(rep.bind(scratch_endpoint("inproc")));
    int fd = req.get(ZLINK_ROOM_FD);
    ASSERT_EQ(req.send("question"), 8);
    EXPECT_FALSE(is_up(fd));
    EXPECT_EQ(req.set(ZMQ_REQ_RELAXED, 1), 0);
    EXPECT_TRUE(is_up(fd)) << "it need not wait for the reply any more";

    router.set(ZMQ_ROUTER_MANDATORY, 1);
    fd = router.get(ZLINK_ROOM_FD);
    EXPECT_FALSE(is_up(fd)) << "nobody is there";
    EXPECT_EQ(router.set(ZMQ_ROUTER_MANDATORY, 0), 0);
    EXPECT_TRUE(is_up(fd));

    const auto fill = [&](test_socket &socket, test_socket &sub) {
        socket.set(ZMQ_SNDHWM, 1);
        sub.set(ZMQ_RCVHWM, 1);
        sub.set(ZMQ_SUBSCRIBE, "");
        sub.connect(socket.bind(scratch_endpoint("inproc")));
        const int room = socket.get(ZLINK_ROOM_FD);
        while (socket.send("task", ZMQ_DONTWAIT) != -1) {
        }
        return room;
    };
    test_socket first = zmq.socket(ZMQ_SUB), second = zmq.socket(ZMQ_SUB);
    xpub.set(ZMQ_XPUB_NODROP, 1);
    fd = fill(xpub, first);
    EXPECT_FALSE(is_up(fd));
    EXPECT_EQ(xpub.set(ZMQ_XPUB_NODROP, 0), 0);
    EXPECT_TRUE(is_up(fd));

    pub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_BLOCK);
    fd = fill(pub, second);
    EXPECT_FALSE(is_up(fd));
    EXPECT_EQ(pub.set(ZLINK_SLOW_PEER, ZLINK_SLOW_PEER_DROP), 0);
    EXPECT_TRUE(is_up(fd));

    fd = raw.get(ZLINK_ROOM_FD);
    ASSERT_TRUE(is_up(fd)) << "it drops what is for nobody";
    EXPECT_EQ(raw.set(ZMQ_ROUTER_RAW, 1), 0);
    EXPECT_EQ(is_up(fd), (raw.get(ZMQ_EVENTS) & ZMQ_POLLOUT) != 0) << "another pattern answers";
}

TEST(event_fd, is_there_beside_zmq_fd_and_goes_with_the_socket) {
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR), peer = zmq.socket(ZMQ_PAIR);
    const int level = pair.get(ZLINK_EVENT_FD), edge = pair.get(ZMQ_FD), room = pair.get(ZLINK_ROOM_FD);
    EXPECT_NE(level, edge);
    EXPECT_NE(level, room);
    peer.connect(pair.bind(scratch_endpoint("inproc")));
    peer.send("task");
    EXPECT_TRUE(is_up(edge));
    EXPECT_TRUE(is_up(level));
    EXPECT_EQ(pair.receive(), "task");
    EXPECT_FALSE(is_up(level));
    pair.close();
    EXPECT_EQ(::fcntl(level, F_GETFD), -1);
    EXPECT_EQ(::fcntl(room, F_GETFD), -1);
}

TEST(event_fd, is_readable_when_the_context_ends) {
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    const int fd = pull.get(ZLINK_EVENT_FD), room = pull.get(ZLINK_ROOM_FD);
    zmq.shutdown();
    EXPECT_TRUE(is_up(fd, patience_ms));
    EXPECT_TRUE(is_up(room, patience_ms));
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
    EXPECT_EQ(zmq_errno(), ETERM);
}

TEST(event_fd, is_asked_for_as_an_int_and_never_set) {
    context zmq;
    test_socket pair = zmq.socket(ZMQ_PAIR);
    char small[2];
    std::size_t size = sizeof small;
    EXPECT_FAILS(EINVAL, zmq_getsockopt(pair.handle(), ZLINK_EVENT_FD, small, &size));
    EXPECT_EQ(pair.set(ZLINK_EVENT_FD, 1), -1);
    EXPECT_EQ(pair.set(ZLINK_ROOM_FD, 1), -1);
}

// Over inproc nothing is under way: the level can be foretold.
TEST(event_fd, is_right_behind_each_step_of_any_history) {
    context zmq;
    for (unsigned seed = 0; seed < static_cast<unsigned>(effort(40, 5)); ++seed) {
        std::mt19937 dice(seed);
        test_socket pull = zmq.socket(ZMQ_PULL);
        const std::string endpoint = pull.bind(scratch_endpoint("inproc"));
        std::vector<test_socket> pushers;
        int fd = -1, waiting = 0;
        std::string large(5000, 'x');
        for (int step = 0; step < 400; ++step) {
            switch (dice() % 12) {
            case 0:
                if (pushers.size() < 5) {
                    pushers.push_back(zmq.socket(ZMQ_PUSH));
                    pushers.back().connect(endpoint);
                }
                break;
            case 1:
            case 2:
            case 3:
            case 4:
                if (!pushers.empty() && waiting < 500) {
                    test_socket &which = pushers[dice() % pushers.size()];
                    ASSERT_TRUE(which.send_all(dice() % 2 ? frames{"one"} : frames{"one", large}));
                    ++waiting;
                }
                break;
            case 5:
            case 6:
            case 7:
            case 8: {
                const auto part = pull.receive(ZMQ_DONTWAIT);
                ASSERT_EQ(part.has_value(), waiting > 0) << "step " << step << " of " << seed;
                if (part)
                    waiting -= pull.get(ZMQ_RCVMORE) ? 0 : 1;
                break;
            }
            case 9:
                (void)pull.get(ZMQ_EVENTS);
                break;
            case 10:
                pull.set(ZMQ_LINGER, 0);
                (void)pull.has_input(0);
                break;
            default:
                if (fd < 0)
                    fd = pull.get(ZLINK_EVENT_FD);
                break;
            }
            if (fd >= 0 && waiting > 0) {
                ASSERT_TRUE(is_up(fd)) << "step " << step << " of " << seed;
            }
            if (fd >= 0 && waiting == 0) {
                EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));  // takes in who has come
                ASSERT_FALSE(is_up(fd)) << "step " << step << " of " << seed;
            }
        }
    }
}

}  // namespace
