// Connecting: before anybody listens, again when a connection broke, many at once, and what is
//             refused.
#include "raw_peer.hpp"
#include "sockets.hpp"

#include <thread>

namespace {

using namespace zlink_test;
using zlink::test::raw_listener;
using zlink::test::raw_peer;

class asio_connect : public ::testing::TestWithParam<const char *> {
protected:
    std::string lasting() const { return lasting_endpoint(GetParam()); }

    context zmq;
};

// ---- Before anybody listens ----

TEST_P(asio_connect, what_was_sent_before_anybody_listened_arrives_in_order) {
    const std::string endpoint = lasting();
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    push.connect(endpoint);
    for (int i = 0; i < 100; ++i)
        ASSERT_TRUE(push.send_all({std::to_string(i), "", "more"}));
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(endpoint);
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(pull.receive_all(), (frames{std::to_string(i), "", "more"}));
}

TEST_P(asio_connect, several_that_came_too_early_are_all_served) {
    const std::string endpoint = lasting();
    std::vector<test_socket> requesters;
    for (int i = 0; i < 10; ++i) {
        requesters.push_back(zmq.socket(ZMQ_REQ));
        requesters.back().set(ZMQ_RECONNECT_IVL, 10);
        requesters.back().connect(endpoint);
        ASSERT_NE(requesters.back().send(std::to_string(i)), -1);
    }
    test_socket rep = zmq.socket(ZMQ_REP);
    rep.bind(endpoint);
    for (int i = 0; i < 10; ++i) {
        const auto question = rep.receive();
        ASSERT_TRUE(question);
        ASSERT_NE(rep.send("re " + *question), -1);
    }
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(requesters[static_cast<std::size_t>(i)].receive(), "re " + std::to_string(i));
}

TEST_P(asio_connect, may_be_given_up_before_anybody_listens) {
    const std::string endpoint = lasting();
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(endpoint);
    ASSERT_EQ(push.send("lost", ZMQ_DONTWAIT), 4);
    ASSERT_EQ(push.disconnect(endpoint), 0);
    EXPECT_FAILS(EAGAIN, push.send("nobody", ZMQ_DONTWAIT));
    EXPECT_FAILS(ENOENT, push.disconnect(endpoint));
    test_socket pull = zmq.socket(ZMQ_PULL);
    pull.bind(endpoint);
    push.connect(endpoint);
    ASSERT_EQ(push.send("kept"), 4);
    EXPECT_EQ(pull.receive(), "kept");
}

// ---- Again ----

TEST_P(asio_connect, a_requester_asks_whoever_listens_now) {
    const std::string endpoint = lasting();
    test_socket req = zmq.socket(ZMQ_REQ);
    req.set(ZMQ_RECONNECT_IVL, 10);
    monitor watch(zmq, req, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    req.connect(endpoint);
    for (int life = 0; life < 5; ++life) {
        test_socket rep = zmq.socket(ZMQ_REP);
        ASSERT_TRUE(eventually([&] { return zmq_bind(rep.handle(), endpoint.c_str()) == 0; }));
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(req.send("ask"), 3);
            ASSERT_EQ(rep.receive(), "ask");
            ASSERT_NE(rep.send(std::to_string(life)), -1);
            ASSERT_EQ(req.receive(), std::to_string(life));
        }
        rep.close();
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
        req.get(ZMQ_EVENTS);  // takes notice that the old connection has gone
    }
}

TEST_P(asio_connect, what_was_not_sent_goes_to_the_next_listener) {
    const std::string endpoint = lasting();
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    monitor watch(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED);
    push.connect(endpoint);
    test_socket first = zmq.socket(ZMQ_PULL);
    first.bind(endpoint);
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    ASSERT_EQ(push.send("first"), 5);
    ASSERT_EQ(first.receive(), "first");
    first.close();
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_DISCONNECTED);
    // Nobody is there: it waits for whoever comes.
    for (int i = 0; i < 10; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    test_socket second = zmq.socket(ZMQ_PULL);
    ASSERT_TRUE(eventually([&] { return zmq_bind(second.handle(), endpoint.c_str()) == 0; }));
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(second.receive(), std::to_string(i));
}

TEST_P(asio_connect, one_listener_lost_does_not_disturb_the_others) {
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_IMMEDIATE, 1);  // so that nothing is queued for a listener that has gone
    std::vector<test_socket> pulls;
    monitor watch(zmq, push, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_CONNECT_RETRIED);
    for (int i = 0; i < 3; ++i) {
        pulls.push_back(zmq.socket(ZMQ_PULL));
        push.connect(pulls.back().bind(scratch_endpoint(GetParam())));
        ASSERT_EQ(watch.next(ZMQ_EVENT_HANDSHAKE_SUCCEEDED).event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    }
    pulls[0].close();
    ASSERT_EQ(watch.next().event, ZMQ_EVENT_CONNECT_RETRIED);
    // In turn between those who are left, once the socket has taken notice.
    push.get(ZMQ_EVENTS);
    std::size_t sent[3] = {};
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(push.send("x"), 1);
    ASSERT_TRUE(eventually([&] {
        for (std::size_t i = 1; i < 3; ++i)
            while (pulls[i].receive(ZMQ_DONTWAIT))
                ++sent[i];
        return sent[1] + sent[2] == 20;
    }));
    EXPECT_EQ(sent[1], 10u);
    EXPECT_EQ(sent[2], 10u);
}

// ---- Many ----

TEST_P(asio_connect, many_connect_to_one_endpoint) {
    constexpr int count = 60;
    test_socket pull = zmq.socket(ZMQ_PULL);
    const std::string endpoint = pull.bind(scratch_endpoint(GetParam()));
    std::vector<test_socket> pushes;
    for (int i = 0; i < count; ++i) {
        pushes.push_back(zmq.socket(ZMQ_PUSH));
        pushes.back().connect(endpoint);
        for (int n = 0; n < 10; ++n)
            ASSERT_TRUE(pushes.back().send_all({std::to_string(i), std::to_string(n)}));
    }
    std::vector<int> seen(count, 0);
    for (int i = 0; i < count * 10; ++i) {
        const frames found = pull.receive_all();
        ASSERT_EQ(found.size(), 2u);
        EXPECT_EQ(std::stoi(found[1]), seen[static_cast<std::size_t>(std::stoi(found[0]))]++);
    }
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
}

TEST_P(asio_connect, one_socket_connects_to_many_and_sends_to_them_in_turn) {
    constexpr std::size_t count = 5;
    test_socket dealer = zmq.socket(ZMQ_DEALER);
    std::vector<test_socket> routers;
    monitor watch(zmq, dealer, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    for (std::size_t i = 0; i < count; ++i) {
        routers.push_back(zmq.socket(ZMQ_ROUTER));
        dealer.connect(routers.back().bind(scratch_endpoint(GetParam())));
        ASSERT_EQ(watch.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    }
    for (std::size_t i = 0; i < count * 4; ++i)
        ASSERT_NE(dealer.send("x"), -1);
    for (test_socket &router : routers) {
        for (int i = 0; i < 4; ++i)
            ASSERT_EQ(router.receive_all().size(), 2u);
        EXPECT_FALSE(router.receive(ZMQ_DONTWAIT));
    }
}

TEST_P(asio_connect, a_second_connection_to_the_same_endpoint_loses_nothing) {
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    const std::string endpoint = connected(zmq, pull, push, GetParam());
    push.connect(endpoint);
    std::vector<int> seen;
    for (int i = 0; i < 20; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    for (int i = 0; i < 20; ++i)
        seen.push_back(std::stoi(pull.receive().value_or("-1")));
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
    EXPECT_FALSE(pull.receive(ZMQ_DONTWAIT));
}

TEST_P(asio_connect, threads_with_sockets_of_their_own_connect_at_once) {
    constexpr int count = 8;
    test_socket rep = zmq.socket(ZMQ_REP);
    const std::string endpoint = rep.bind(scratch_endpoint(GetParam()));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&, i] {
            for (int n = 0; n < 20; ++n) {
                test_socket req = zmq.socket(ZMQ_REQ);
                req.connect(endpoint);
                const std::string question = std::to_string(i) + ":" + std::to_string(n);
                req.send(question);
                EXPECT_EQ(req.receive(), "re " + question);
            }
        });
    for (int i = 0; i < count * 20; ++i)
        if (const auto question = rep.receive())
            rep.send("re " + *question);
    for (std::thread &each : threads)
        each.join();
}

// ---- IMMEDIATE ----

TEST_P(asio_connect, an_immediate_sender_waits_for_its_peer) {
    const std::string endpoint = lasting();
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_IMMEDIATE, 1);
    push.set(ZMQ_RECONNECT_IVL, 10);
    push.connect(endpoint);
    EXPECT_FAILS(EAGAIN, push.send("x", ZMQ_DONTWAIT));
    std::string received;
    std::thread listening([&] {
        test_socket pull = zmq.socket(ZMQ_PULL);
        pull.bind(endpoint);
        received = pull.receive().value_or("nothing");
    });
    EXPECT_EQ(push.send("waited"), 6);
    listening.join();
    EXPECT_EQ(received, "waited");
}

TEST_P(asio_connect, an_immediate_sender_chooses_the_peer_that_is_there) {
    const std::string nowhere = lasting();
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_IMMEDIATE, 1);
    push.connect(nowhere);
    push.connect(pull.bind(scratch_endpoint(GetParam())));
    for (int i = 0; i < 20; ++i)
        ASSERT_NE(push.send(std::to_string(i)), -1);
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(pull.receive(), std::to_string(i));
}

INSTANTIATE_TEST_SUITE_P(transports, asio_connect, ::testing::Values("tcp", "ipc"),
                         [](const auto &which) { return std::string(which.param); });

// ---- What is refused ----

TEST(asio_connect_to, refuses_what_is_no_endpoint) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_DEALER);
    for (const char *endpoint : {"", "tcp", "tcp:", "tcp://", "tcp:/127.0.0.1:5555", "127.0.0.1:5555",
                                 "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:*", "tcp://*:5555",
                                 "tcp://127.0.0.1:port", "tcp://:5555:", "tcp://bad host:5555",
                                 "tcp://127.0.0.1:5555;", "tcp://;127.0.0.1:5555", "ipc://", "inproc://"}) {
        SCOPED_TRACE(endpoint);
        EXPECT_FAILS(EINVAL, zmq_connect(any.handle(), endpoint));
    }
    EXPECT_FAILS(EPROTONOSUPPORT, zmq_connect(any.handle(), "bogus://127.0.0.1:5555"));
    EXPECT_FAILS(EINVAL, zmq_connect(any.handle(), nullptr));
    EXPECT_FAILS(ENAMETOOLONG, zmq_connect(any.handle(), ("ipc:///" + std::string(200, 'x')).c_str()));
    // Nothing of it was begun.
    EXPECT_EQ(any.last_endpoint(), "");
    EXPECT_FAILS(EAGAIN, any.send("x", ZMQ_DONTWAIT));
}

TEST(asio_connect_to, refuses_to_disconnect_what_is_not_connected) {
    context zmq;
    test_socket bound = zmq.socket(ZMQ_DEALER);
    test_socket peer = zmq.socket(ZMQ_DEALER);
    for (const char *endpoint :
         {"tcp://127.0.0.1:5555", "tcp://127.0.0.1:port", "ipc:///nobody", "inproc://nobody"})
        EXPECT_FAILS(ENOENT, peer.disconnect(endpoint));
    for (const char *endpoint : {"", "tcp", "127.0.0.1:5555", "tcp://"})
        EXPECT_FAILS(EINVAL, peer.disconnect(endpoint));
    for (const char *transport : {"tcp", "ipc", "inproc"}) {
        SCOPED_TRACE(transport);
        const std::string endpoint = connected(zmq, bound, peer, transport);
        EXPECT_EQ(peer.disconnect(endpoint), 0);
        EXPECT_FAILS(ENOENT, peer.disconnect(endpoint));
    }
}

TEST(asio_connect_to, refuses_a_socket_that_is_none_and_a_context_that_ends) {
    context zmq;
    EXPECT_FAILS(ENOTSOCK, zmq_connect(nullptr, "tcp://127.0.0.1:5555"));
    EXPECT_FAILS(ENOTSOCK, zmq_disconnect(nullptr, "tcp://127.0.0.1:5555"));
    EXPECT_FAILS(ENOTSOCK, zmq_connect(zmq.handle(), "tcp://127.0.0.1:5555"));
    test_socket any = zmq.socket(ZMQ_DEALER);
    zmq.shutdown();
    EXPECT_FAILS(ETERM, zmq_connect(any.handle(), "tcp://127.0.0.1:5555"));
    EXPECT_FAILS(ETERM, zmq_disconnect(any.handle(), "tcp://127.0.0.1:5555"));
}

// ---- A peer that does not answer ----

// Listens, and lets nobody in: its queue of one is full.
class full_listener {
public:
    full_listener() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof here;
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr *>(&here), length), 0);
        EXPECT_EQ(::listen(descriptor_, 0), 0);
        EXPECT_EQ(::getsockname(descriptor_, reinterpret_cast<sockaddr *>(&here), &length), 0);
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
        // The kernel counts generously: the last of these is left waiting.
        for (int i = 0; i < 8; ++i) {
            callers_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            (void)::connect(callers_.back(), reinterpret_cast<sockaddr *>(&here), length);
        }
    }
    full_listener(const full_listener &) = delete;
    full_listener &operator=(const full_listener &) = delete;
    ~full_listener() {
        for (const int caller : callers_)
            ::close(caller);
        ::close(descriptor_);
    }
    const std::string &endpoint() const { return endpoint_; }

private:
    int descriptor_;
    std::string endpoint_;
    std::vector<int> callers_;
};

TEST(connect_timeout, gives_up_an_attempt_and_tries_again) {
    context zmq;
    full_listener silent;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_RECONNECT_IVL, 10);
    ASSERT_EQ(push.set(ZMQ_CONNECT_TIMEOUT, 50), 0);
    EXPECT_EQ(push.get(ZMQ_CONNECT_TIMEOUT), 50);
    monitor watch(zmq, push, ZMQ_EVENT_CLOSED | ZMQ_EVENT_CONNECTED);
    push.connect(silent.endpoint());
    // Without the limit the kernel would try for minutes.
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_CLOSED);
    EXPECT_EQ(watch.next().event, ZMQ_EVENT_CLOSED);
}

TEST(connect_timeout, does_not_end_a_connection_that_was_made) {
    context zmq;
    raw_listener listener;
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.set(ZMQ_CONNECT_TIMEOUT, 50);
    push.connect(listener.endpoint());
    raw_peer peer = listener.accept();
    // Five times the limit passes without a word.
    EXPECT_FALSE(listener.is_called(250));
    ASSERT_TRUE(peer.shake_hands("PULL"));
    ASSERT_EQ(push.send("still"), 5);
    EXPECT_EQ(peer.receive_frame().second, "still");
}

TEST(connect_timeout, is_checked) {
    context zmq;
    test_socket any = zmq.socket(ZMQ_PAIR);
    EXPECT_EQ(any.get(ZMQ_CONNECT_TIMEOUT), 0);
    EXPECT_FAILS(EINVAL, any.set(ZMQ_CONNECT_TIMEOUT, -1));
}

}  // namespace
