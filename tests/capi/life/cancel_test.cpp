// pthread_cancel of a thread that waits in the library ends that thread and nothing else: its
// sockets can be used by another thread, and closed, and no message is lost.
#include <zmq.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "busy_threads.hpp"
#include "cancelled_thread.hpp"
#include "raw_peer.hpp"
#include "sockets.hpp"

using namespace zlink_test;
using zlink::test::raw_peer;

namespace {

/// Waits without end: what ends it is the cancellation.
test_socket patient(context &zmq, int type) {
    test_socket made = zmq.socket(type);
    made.set(ZMQ_RCVTIMEO, -1);
    made.set(ZMQ_SNDTIMEO, -1);
    return made;
}

/// It ends at the next cancellation point, of which pthread_cancel must not be one.
void cancel_this_thread() {
    int before;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    ::pthread_cancel(::pthread_self());
    ::pthread_setcancelstate(before, nullptr);
}

void receive_for_ever(void *s) {
    char buffer[64];
    for (;;)
        (void)zmq_recv(s, buffer, sizeof buffer, 0);
}

// ---- One call, over each transport --------------------------------------------------------------

class pair_of : public testing::TestWithParam<const char *> {
protected:
    void SetUp() override { connected(zmq, near, far, GetParam()); }
    /// Nothing that comes now is lost, and all can be closed.
    void expect_all_is_well() {
        near.set(ZMQ_RCVTIMEO, patience_ms);
        near.set(ZMQ_SNDTIMEO, patience_ms);
        for (int i = 0; i < 3; ++i) {
            ASSERT_EQ(far.send("to the near end"), 15);
            EXPECT_EQ(near.receive(), "to the near end");
            ASSERT_EQ(near.send("to the far end"), 14);
            EXPECT_EQ(far.receive(), "to the far end");
        }
        EXPECT_EQ(near.close(), 0);
        EXPECT_EQ(far.close(), 0);
        EXPECT_EQ(zmq.term(), 0);
    }
    /// A thread that waits often, with little in between, reads its connection itself.
    void converse(int round_trips) {
        char octet = 0;
        for (int i = 0; i < round_trips; ++i) {
            EXPECT_EQ(zmq_recv(near.handle(), &octet, 1, 0), 1);
            EXPECT_EQ(zmq_send(near.handle(), &octet, 1, 0), 1);
        }
    }
    void answer(int round_trips) {
        for (int i = 0; i < round_trips; ++i) {
            ASSERT_EQ(far.send("x"), 1);
            ASSERT_EQ(far.receive(), "x");
        }
    }

    context zmq;
    test_socket near = patient(zmq, ZMQ_PAIR);
    test_socket far = zmq.socket(ZMQ_PAIR);
};

class cancelled : public pair_of {
protected:
    void SetUp() override {
        SKIP_IF_NOT_SEEN_TO_UNWIND();
        pair_of::SetUp();
    }
};

class cancelled_awake : public pair_of {};

TEST_P(cancelled, in_recv) {
    cancelled_thread victim([&] { receive_for_ever(near.handle()); });
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_msg_recv) {
    cancelled_thread victim([&] {
        zmq_msg_t message;
        zmq_msg_init(&message);
        (void)zmq_msg_recv(&message, near.handle(), 0);
    });
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_recv_with_a_timeout) {
    near.set(ZMQ_RCVTIMEO, 1'000'000);
    cancelled_thread victim([&] { receive_for_ever(near.handle()); });
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_recviov) {
    cancelled_thread victim([&] {
        iovec parts[2];
        std::size_t count = 2;
        (void)zmq_recviov(near.handle(), parts, &count, 0);
    });
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_poll) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    cancelled_thread victim([&] {
        zmq_pollitem_t items[] = {{near.handle(), 0, ZMQ_POLLIN, 0},
                                  {nullptr, ends[0], ZMQ_POLLIN, 0},
                                  {far.handle(), 0, ZMQ_POLLIN, 0}};
        (void)zmq_poll(items, 3, -1);
    });
    victim.cancel_asleep();
    ::close(ends[0]);
    ::close(ends[1]);
    expect_all_is_well();
}

TEST_P(cancelled, in_poll_of_one) {
    cancelled_thread victim([&] {
        zmq_pollitem_t item{near.handle(), 0, ZMQ_POLLIN, 0};
        (void)zmq_poll(&item, 1, 1'000'000);
    });
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_poller_wait) {
    void *poller = zmq_poller_new();
    ASSERT_EQ(zmq_poller_add(poller, near.handle(), nullptr, ZMQ_POLLIN), 0);
    zmq_poller_event_t event;
    cancelled_thread victim([&] { (void)zmq_poller_wait(poller, &event, -1); });
    victim.cancel_asleep();
    ASSERT_EQ(far.send("x"), 1);
    EXPECT_EQ(zmq_poller_wait(poller, &event, patience_ms), 0);
    EXPECT_EQ(near.receive(), "x");
    EXPECT_EQ(zmq_poller_destroy(&poller), 0);
    expect_all_is_well();
}

TEST_P(cancelled, in_poller_wait_all) {
    void *poller = zmq_poller_new();
    ASSERT_EQ(zmq_poller_add(poller, near.handle(), nullptr, ZMQ_POLLIN), 0);
    ASSERT_EQ(zmq_poller_add(poller, far.handle(), nullptr, ZMQ_POLLIN), 0);
    std::array<zmq_poller_event_t, 2> events;
    cancelled_thread victim([&] { (void)zmq_poller_wait_all(poller, events.data(), 2, -1); });
    victim.cancel_asleep();
    ASSERT_EQ(far.send("x"), 1);
    EXPECT_EQ(zmq_poller_wait_all(poller, events.data(), 2, patience_ms), 1);
    EXPECT_EQ(near.receive(), "x");
    EXPECT_EQ(zmq_poller_destroy(&poller), 0);
    expect_all_is_well();
}

TEST_P(cancelled, in_recv_by_a_thread_that_reads_its_connection_itself) {
    constexpr int round_trips = 400;
    cancelled_thread victim([&] {
        converse(round_trips);
        receive_for_ever(near.handle());
    });
    answer(round_trips);
    victim.cancel_asleep();
    expect_all_is_well();
}

TEST_P(cancelled, in_poll_by_a_thread_that_reads_its_connection_itself) {
    constexpr int round_trips = 400;
    cancelled_thread victim([&] {
        zmq_pollitem_t item{near.handle(), 0, ZMQ_POLLIN, 0};
        for (int i = 0; i < round_trips; ++i) {
            EXPECT_EQ(zmq_poll(&item, 1, -1), 1);
            converse(1);
        }
        (void)zmq_poll(&item, 1, -1);
    });
    answer(round_trips);
    victim.cancel_asleep();
    expect_all_is_well();
}

/// A message that was sent is not lost, one whose send was cancelled was not sent.
TEST_P(cancelled, in_send_without_room) {
    test_socket push = patient(zmq, ZMQ_PUSH);
    test_socket pull = zmq.socket(ZMQ_PULL);
    push.set(ZMQ_SNDHWM, 4);
    pull.set(ZMQ_RCVHWM, 4);
    connected(zmq, push, pull, GetParam());
    std::vector<char> body(64 * 1024);
    std::atomic<int> sent{0};
    cancelled_thread victim([&] {
        for (;;) {
            const int number = sent;
            std::memcpy(body.data(), &number, sizeof number);
            if (zmq_send(push.handle(), body.data(), body.size(), 0) == static_cast<int>(body.size()))
                ++sent;
        }
    });
    victim.cancel_asleep();
    cancelled_thread next([&] {
        const int number = sent;
        std::memcpy(body.data(), &number, sizeof number);
        EXPECT_EQ(zmq_send(push.handle(), body.data(), body.size(), 0), static_cast<int>(body.size()));
    });
    for (int expected = 0; expected <= sent; ++expected) {
        const auto got = pull.receive();
        ASSERT_TRUE(got && got->size() == body.size());
        int number = -1;
        std::memcpy(&number, got->data(), sizeof number);
        ASSERT_EQ(number, expected);
    }
    EXPECT_EQ(next.join(), nullptr);
    EXPECT_EQ(push.close(), 0);
    EXPECT_EQ(pull.close(), 0);
    expect_all_is_well();
}

TEST_P(cancelled, in_proxy) {
    test_socket router = patient(zmq, ZMQ_ROUTER);
    test_socket dealer = patient(zmq, ZMQ_DEALER);
    test_socket client = zmq.socket(ZMQ_REQ);
    test_socket server = zmq.socket(ZMQ_REP);
    connected(zmq, router, client, GetParam());
    connected(zmq, dealer, server, GetParam());
    const auto ask = [&] {
        ASSERT_EQ(client.send("question"), 8);
        ASSERT_EQ(server.receive(), "question");
        ASSERT_EQ(server.send("answer"), 6);
        ASSERT_EQ(client.receive(), "answer");
    };
    for (int round = 0; round < 2; ++round) {
        cancelled_thread victim([&] { (void)zmq_proxy(router.handle(), dealer.handle(), nullptr); });
        for (int i = 0; i < 20; ++i)
            ask();
        victim.cancel_asleep();
    }
    for (test_socket *each : {&router, &dealer, &client, &server})
        EXPECT_EQ(each->close(), 0);
    expect_all_is_well();
}

TEST_P(cancelled, in_a_busy_proxy) {
    test_socket pull = patient(zmq, ZMQ_PULL);
    test_socket push = patient(zmq, ZMQ_PUSH);
    test_socket source = zmq.socket(ZMQ_PUSH);
    test_socket sink = zmq.socket(ZMQ_PULL);
    connected(zmq, pull, source, GetParam());
    connected(zmq, push, sink, GetParam());
    cancelled_thread victim([&] { (void)zmq_proxy(pull.handle(), push.handle(), nullptr); });
    busy_threads busy;
    busy.add([&] { (void)source.send("x", ZMQ_DONTWAIT); });
    for (int i = 0; i < 5000; ++i)
        EXPECT_EQ(sink.receive(), "x");
    busy.add([&] { (void)sink.receive(ZMQ_DONTWAIT); });
    victim.cancel();
    EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    busy.stop();
    for (test_socket *each : {&pull, &push, &source, &sink})
        EXPECT_EQ(each->close(), 0);
    expect_all_is_well();
}

TEST_P(cancelled, in_poll_of_more_sockets_than_poll_is_given) {
    constexpr int round_trips = 50;
    std::vector<test_socket> others;
    for (int i = 0; i < 40; ++i)
        others.push_back(zmq.socket(ZMQ_PULL));
    cancelled_thread victim([&] {
        std::vector<zmq_pollitem_t> items{{near.handle(), 0, ZMQ_POLLIN, 0}};
        for (test_socket &each : others)
            items.push_back({each.handle(), 0, ZMQ_POLLIN, 0});
        for (int i = 0; i < round_trips; ++i) {
            EXPECT_EQ(zmq_poll(items.data(), static_cast<int>(items.size()), -1), 1);
            converse(1);
        }
        (void)zmq_poll(items.data(), static_cast<int>(items.size()), -1);
    });
    answer(round_trips);
    victim.cancel_asleep();
    others.clear();
    expect_all_is_well();
}

/// Whatever there is to do is done first.
TEST_P(cancelled_awake, in_a_call_that_finds_nothing) {
    std::atomic<bool> has_gone_on{false};
    cancelled_thread victim([&] {
        cancel_this_thread();
        EXPECT_EQ(near.send("x"), 1);
        has_gone_on = true;
        (void)near.receive(ZMQ_DONTWAIT);
        ADD_FAILURE() << "was not cancelled";
    });
    EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    EXPECT_TRUE(has_gone_on);
    EXPECT_EQ(far.receive(), "x");
    expect_all_is_well();
}

TEST_P(cancelled_awake, only_when_it_allows_that) {
    cancelled_thread victim([&] {
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        std::optional<std::string> received = near.receive();
        if (cancelling_interrupts && !received && errno == EINTR)
            received = near.receive();
        EXPECT_EQ(received, "x");
        int state = -1;
        ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
        EXPECT_EQ(state, PTHREAD_CANCEL_DISABLE);
        (void)near.receive();
        ADD_FAILURE() << "was not cancelled";
    });
    victim.await_sleep();
    victim.cancel();
    EXPECT_EQ(far.send("x"), 1);
    EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    expect_all_is_well();
}

TEST_P(cancelled_awake, in_a_proxy_that_has_much_to_do) {
    constexpr int many = 5000;
    test_socket pull = patient(zmq, ZMQ_PULL);
    test_socket push = patient(zmq, ZMQ_PUSH);
    test_socket source = zmq.socket(ZMQ_PUSH);
    test_socket sink = zmq.socket(ZMQ_PULL);
    for (test_socket *each : {&pull, &push, &source, &sink}) {
        each->set(ZMQ_SNDHWM, 0);
        each->set(ZMQ_RCVHWM, 0);
    }
    connected(zmq, pull, source, GetParam());
    connected(zmq, push, sink, GetParam());
    for (int i = 0; i < many; ++i)
        ASSERT_EQ(source.send("x"), 1);
    ASSERT_TRUE(pull.has_input());
    cancelled_thread victim([&] {
        cancel_this_thread();
        (void)zmq_proxy(pull.handle(), push.handle(), nullptr);
    });
    EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    pull.set(ZMQ_RCVTIMEO, patience_ms);
    for (int i = 0; i < many; ++i)
        ASSERT_EQ(pull.receive(), "x");
    for (test_socket *each : {&pull, &push, &source, &sink})
        EXPECT_EQ(each->close(), 0);
    expect_all_is_well();
}

// The part in its hands is lost, and the rest of its message with it: nobody gets half of one.
TEST_P(cancelled, in_a_proxy_between_the_parts_of_a_message) {
    constexpr int messages = 8;
    test_socket front = patient(zmq, ZMQ_PULL);
    test_socket back = patient(zmq, ZMQ_XPUB);
    test_socket source = zmq.socket(ZMQ_PUSH);
    test_socket sink = zmq.socket(ZMQ_SUB);
    back.set(ZMQ_XPUB_NODROP, 1);
    for (test_socket *each : {&back, &sink}) {
        each->set(ZMQ_SNDHWM, 1);
        each->set(ZMQ_RCVHWM, 1);
        each->set(ZMQ_SNDBUF, 4096);
        each->set(ZMQ_RCVBUF, 4096);
    }
    sink.set(ZMQ_SUBSCRIBE, "");
    connected(zmq, front, source, GetParam());
    connected(zmq, back, sink, GetParam());
    const std::string large(1'000'000, 'x');
    for (int i = 0; i < messages; ++i) {
        ASSERT_GE(source.send(large, ZMQ_SNDMORE), 0);
        ASSERT_GE(source.send("end"), 0);
    }
    cancelled_thread victim([&] { (void)zmq_proxy(front.handle(), back.handle(), nullptr); });
    victim.cancel_asleep();
    front.set(ZMQ_RCVTIMEO, 100);
    for (;;) {
        const frames message = front.receive_all();
        if (message.empty())
            break;
        ASSERT_EQ(message.size(), 2u);
        EXPECT_EQ(message[0].size(), large.size());
        EXPECT_EQ(message[1], "end");
    }
    for (test_socket *each : {&front, &back, &source, &sink})
        EXPECT_EQ(each->close(), 0);
    expect_all_is_well();
}

INSTANTIATE_TEST_SUITE_P(transports, cancelled, testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(transports, cancelled_awake, testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &info) { return std::string(info.param); });

// ---- A large body that is half there ------------------------------------------------------------

class half_a_body_when_cancelled : public testing::TestWithParam<const char *> {};

TEST_P(half_a_body_when_cancelled, is_received_whole_by_the_next_thread) {
    SKIP_IF_NOT_SEEN_TO_UNWIND();
    constexpr std::size_t size = 600'000;
    const auto body_of = [](int number) {
        std::string out(size, static_cast<char>('a' + number % 26));
        for (std::size_t i = 0; i < size; i += 1000)
            out[i] = static_cast<char>(i / 1000);
        return out;
    };
    context zmq;
    test_socket pull = patient(zmq, ZMQ_PULL);
    raw_peer peer(pull.bind(GetParam()));
    ASSERT_TRUE(peer.shake_hands("PUSH"));
    const auto send_in_pieces = [&](const std::string &body) {
        const std::string wire = zlink::test::message(body);
        bool is_sent = true;
        for (std::size_t at = 0; at < wire.size(); at += 50'000)
            is_sent &= peer.send(std::string_view(wire).substr(at, 50'000));
        return is_sent;
    };
    std::string buffer(size, ' ');
    for (const std::size_t first : {20u, 100'000u, 500'000u, 599'999u}) {
        SCOPED_TRACE(first);
        constexpr int usual = 30;
        std::atomic<int> received{0};
        cancelled_thread victim([&] {
            for (;;) {
                EXPECT_EQ(zmq_recv(pull.handle(), buffer.data(), buffer.size(), 0), static_cast<int>(size));
                EXPECT_EQ(buffer, body_of(received));
                ++received;
            }
        });
        for (int i = 0; i < usual; ++i) {
            ASSERT_TRUE(send_in_pieces(body_of(i)));
            ASSERT_TRUE(eventually([&] { return received == i + 1; }));
        }
        const std::string wire = zlink::test::message(body_of(usual));
        ASSERT_TRUE(peer.send(std::string_view(wire).substr(0, first)));
        victim.cancel_asleep();
        buffer.assign(size, '#');
        const std::string untouched = buffer;
        ASSERT_TRUE(peer.send(std::string_view(wire).substr(first)));
        pull.set(ZMQ_RCVTIMEO, patience_ms);
        EXPECT_EQ(pull.receive(), body_of(usual));
        std::thread next([&] {
            for (int i = 0; i < usual; ++i)
                EXPECT_EQ(pull.receive(), body_of(i));
        });
        for (int i = 0; i < usual; ++i)
            EXPECT_TRUE(send_in_pieces(body_of(i)));
        next.join();
        pull.set(ZMQ_RCVTIMEO, -1);
        EXPECT_EQ(buffer, untouched);
    }
    EXPECT_EQ(pull.close(), 0);
    EXPECT_EQ(zmq.term(), 0);
}

INSTANTIATE_TEST_SUITE_P(transports, half_a_body_when_cancelled,
                         testing::Values("tcp://127.0.0.1:*", "ipc://*"),
                         [](const auto &info) { return std::string(info.param).substr(0, 3); });

// ---- The end ------------------------------------------------------------------------------------

TEST(cancelled_in_term, leaves_the_context_to_be_terminated_by_another_thread) {
    SKIP_IF_NOT_SEEN_TO_UNWIND();
    context zmq;
    test_socket open = zmq.socket(ZMQ_PAIR);
    cancelled_thread victim([&] { (void)zmq_ctx_term(zmq.handle()); });
    victim.cancel_asleep();
    EXPECT_FAILS(ETERM, zmq_send(open.handle(), "x", 1, 0));
    EXPECT_EQ(open.close(), 0);
    EXPECT_EQ(zmq.term(), 0);
}

void free_with_a_call(void *data, void *hint) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)!::write(null, data, 1);
    ::close(null);
    ++*static_cast<int *>(hint);
}

/// Only what may wait is where it ends.
TEST(a_thread_that_is_to_end, comes_to_the_end_of_every_call_that_does_not_wait) {
    for (const std::string transport : {"tcp", "ipc", "inproc"}) {
        SCOPED_TRACE(transport);
        int freed = 0;
        bool is_done = false;
        void *zmq = nullptr;
        cancelled_thread victim([&] {
            cancel_this_thread();

            zmq = zmq_ctx_new();
            void *first = zmq_socket(zmq, ZMQ_DEALER);
            void *second = zmq_socket(zmq, ZMQ_DEALER);
            const int none = 0;
            EXPECT_EQ(zmq_setsockopt(first, ZMQ_LINGER, &none, sizeof none), 0);
            EXPECT_EQ(zmq_setsockopt(second, ZMQ_LINGER, &none, sizeof none), 0);
            EXPECT_EQ(zmq_socket_monitor(first, "inproc://events-of-the-first", ZMQ_EVENT_ALL), 0);
            EXPECT_EQ(zmq_bind(first, scratch_endpoint(transport).c_str()), 0);
            char endpoint[256];
            std::size_t size = sizeof endpoint;
            EXPECT_EQ(zmq_getsockopt(first, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
            EXPECT_EQ(zmq_connect(second, endpoint), 0);
            static char body[100'000];
            for (int i = 0; i < 20; ++i) {
                zmq_msg_t lent;
                EXPECT_EQ(zmq_msg_init_data(&lent, body, sizeof body, &free_with_a_call, &freed), 0);
                EXPECT_EQ(zmq_msg_close(&lent), 0);
                EXPECT_EQ(zmq_send(second, body, 64, 0), 64);
                EXPECT_EQ(zmq_send(second, body, sizeof body, 0), static_cast<int>(sizeof body));
            }
            int events = 0;
            for (int i = 0; i < 1000; ++i) {
                size = sizeof events;
                EXPECT_EQ(zmq_getsockopt(first, ZMQ_EVENTS, &events, &size), 0);
            }
            int descriptor = -1;
            size = sizeof descriptor;
            EXPECT_EQ(zmq_getsockopt(first, ZMQ_FD, &descriptor, &size), 0);
            EXPECT_EQ(zmq_disconnect(second, endpoint), 0);
            EXPECT_EQ(zmq_unbind(first, endpoint), 0);
            EXPECT_EQ(zmq_socket_monitor(first, nullptr, 0), 0);
            EXPECT_EQ(zmq_ctx_shutdown(zmq), 0);
            EXPECT_EQ(zmq_close(first), 0);
            EXPECT_EQ(zmq_close(second), 0);
            is_done = true;
            // This waits if a session has not ended yet, and then the thread ends here, and the
            // context does not.
            EXPECT_EQ(zmq_ctx_term(zmq), 0);
            zmq = nullptr;
            ::pthread_testcancel();
        });
        EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
        if (zmq) {
            EXPECT_EQ(zmq_ctx_term(zmq), 0);
        }
        EXPECT_TRUE(is_done);
        EXPECT_EQ(freed, 20);
    }
}

// ---- At any moment ------------------------------------------------------------------------------

class cancelled_at_any_moment : public testing::TestWithParam<const char *> {};

/// Thread after thread converses, until it is cancelled. Each goes on where the last one was.
TEST_P(cancelled_at_any_moment, goes_on_with_the_next_message_in_the_next_thread) {
    SKIP_IF_NOT_SEEN_TO_UNWIND();
    constexpr int rounds = 150;
    context zmq;
    test_socket near = patient(zmq, ZMQ_PAIR);
    test_socket far = zmq.socket(ZMQ_PAIR);
    connected(zmq, near, far, GetParam());
    std::thread echo([&] {
        for (;;) {
            const auto got = far.receive();
            if (!got || got == "end" || far.send(*got) < 0)
                return;
        }
    });
    std::atomic<unsigned> sent{0};
    std::atomic<unsigned> received{0};
    const auto receive_one = [&] {
        unsigned number = 0;
        EXPECT_EQ(zmq_recv(near.handle(), &number, sizeof number, 0), static_cast<int>(sizeof number));
        EXPECT_EQ(number, received);
        ++received;
    };
    unsigned chance = 1;
    for (int round = 0; round < rounds; ++round) {
        cancelled_thread victim([&] {
            for (;;) {
                while (received != sent)
                    receive_one();
                const unsigned number = sent;
                if (zmq_send(near.handle(), &number, sizeof number, 0) == static_cast<int>(sizeof number))
                    ++sent;
            }
        });
        chance = chance * 1664525u + 1013904223u;
        const unsigned until = received + (chance >> 24);
        ASSERT_TRUE(eventually([&] { return received >= until; }));
        victim.cancel();
        EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    }
    near.set(ZMQ_RCVTIMEO, patience_ms);
    while (received != sent && !HasFailure())
        receive_one();
    EXPECT_EQ(near.send("end"), 3);
    echo.join();
    EXPECT_EQ(near.close(), 0);
    EXPECT_EQ(far.close(), 0);
    EXPECT_EQ(zmq.term(), 0);
}

INSTANTIATE_TEST_SUITE_P(transports, cancelled_at_any_moment, testing::Values("tcp", "ipc", "inproc"),
                         [](const auto &info) { return std::string(info.param); });

}  // namespace
