// A context with nothing to do makes no wake-ups: its threads are not scheduled at all.
//
// A second of nothing is what is measured here; it is no synchronisation. Heartbeats are off, as
// they are by default.
#include "asleep.hpp"
#include "busy_threads.hpp"
#include "ends.hpp"
#include "eventually.hpp"
#include "switches.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>

#include <atomic>
#include <list>
#include <thread>

namespace {

using namespace guard;
using namespace std::chrono_literals;
using zlink_test::is_asleep;

constexpr int round_trips = 300;  // enough for a thread to be lent its connections

/// Whatever was begun before ends: leases that are not used go back, connections are made.
bool comes_to_rest() {
    return zlink_test::eventually([] {
        const long before = count_switches().library;
        std::this_thread::sleep_for(200ms);
        return count_switches().library == before;
    });
}

long wake_ups_in_a_second() {
    const long before = count_switches().library;
    std::this_thread::sleep_for(1s);
    return count_switches().library - before;
}

class an_idle_context : public ::testing::TestWithParam<const char *> {
protected:
    void open_all() {
        for (const pattern &kind : patterns)
            pairs.emplace_back(zmq, kind, GetParam());
    }
    static void talk(two_ends &with, bool answers) {
        for (int i = 0; i < round_trips; ++i) {
            with.sender.send();
            with.receiver.receive();
            if (!answers)
                continue;
            with.receiver.send();
            with.sender.receive();
        }
    }

    context zmq;
    std::list<two_ends> pairs;
};

TEST_P(an_idle_context, makes_no_wake_ups) {
    open_all();
    auto pair = pairs.begin();
    for (const pattern &kind : patterns)
        talk(*pair++, kind.answers);
    ASSERT_TRUE(comes_to_rest());
    EXPECT_EQ(wake_ups_in_a_second(), 0);
}

TEST_P(an_idle_context, makes_no_wake_ups_before_the_first_message) {
    open_all();
    ASSERT_TRUE(comes_to_rest());
    EXPECT_EQ(wake_ups_in_a_second(), 0);
}

TEST_P(an_idle_context, makes_no_wake_ups_while_a_thread_waits_for_a_message) {
    two_ends pair(zmq, find_pattern("PAIR"), GetParam());
    std::atomic<long> waiting{0};
    std::thread waits([&] {
        for (int i = 0; i < round_trips; ++i) {
            pair.receiver.receive();
            pair.receiver.send();
        }
        pair.receiver.set(ZMQ_RCVTIMEO, -1);
        waiting = ::syscall(SYS_gettid);
        pair.receiver.receive();
    });
    for (int i = 0; i < round_trips; ++i) {
        pair.sender.send();
        pair.sender.receive();
    }
    EXPECT_TRUE(zlink_test::eventually([&] { return waiting && is_asleep(waiting); }));
    EXPECT_TRUE(comes_to_rest());
    EXPECT_EQ(wake_ups_in_a_second(), 0);
    pair.sender.send();
    waits.join();
}

const auto name_of = [](const auto &which) { return std::string(which.param); };
INSTANTIATE_TEST_SUITE_P(transports, an_idle_context, ::testing::Values("tcp", "ipc"), name_of);
#ifdef ZLINK_TESTS_WITH_TLS
INSTANTIATE_TEST_SUITE_P(encrypted, an_idle_context, ::testing::Values("tls"), name_of);
#endif

TEST(count, finds_a_thread_that_wakes_up) {
    zlink_test::busy_threads restless;
    restless.add([] { std::this_thread::sleep_for(10ms); });
    EXPECT_TRUE(zlink_test::eventually(
        [before = count_switches().library] { return count_switches().library > before + 3; }));
}

}  // namespace
