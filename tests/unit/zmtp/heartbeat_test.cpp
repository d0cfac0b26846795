// Heartbeats in virtual time.
#include "zmtp/heartbeat.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace zlink {
namespace {

using namespace std::chrono_literals;

constexpr heartbeat::time_point start(1h);

TEST(heartbeat, does_nothing_before_it_is_started_or_without_an_interval) {
    heartbeat asleep(100, -1, 0);
    EXPECT_EQ(asleep.deadline(), heartbeat::time_point::max());
    EXPECT_EQ(asleep.check(start + 10h), heartbeat::verdict::quiet);
    heartbeat off(0, -1, 0);
    off.start(start);
    EXPECT_EQ(off.deadline(), heartbeat::time_point::max());
    EXPECT_EQ(off.check(start + 10h), heartbeat::verdict::quiet);
}

TEST(heartbeat, pings_each_interval_while_the_peer_answers) {
    heartbeat beat(100, -1, 0);
    beat.start(start);
    for (int i = 1; i <= 50; ++i) {
        EXPECT_EQ(beat.deadline(), start + i * 100ms);
        EXPECT_EQ(beat.check(start + i * 100ms - 1ms), heartbeat::verdict::quiet);
        EXPECT_EQ(beat.check(start + i * 100ms), heartbeat::verdict::ping);
        EXPECT_EQ(beat.check(start + i * 100ms), heartbeat::verdict::quiet);
        beat.note_traffic(start + i * 100ms);
    }
}

TEST(heartbeat, declares_a_silent_peer_dead_a_timeout_after_the_first_unanswered_ping) {
    heartbeat beat(100, 250, 0);
    beat.start(start);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.check(start + 200ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.check(start + 300ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.deadline(), start + 350ms);
    EXPECT_EQ(beat.check(start + 349ms), heartbeat::verdict::quiet);
    EXPECT_EQ(beat.check(start + 350ms), heartbeat::verdict::dead);
}

TEST(heartbeat, begins_the_time_of_a_ping_that_is_held_up_when_it_is_written) {
    heartbeat beat(100, 250, 0);
    beat.start(start);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    beat.note_held_up(start + 300ms);
    EXPECT_EQ(beat.check(start + 549ms), heartbeat::verdict::ping) << "the next is due";
    beat.note_written(start + 549ms);
    EXPECT_EQ(beat.check(start + 798ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.check(start + 799ms), heartbeat::verdict::dead);
}

TEST(heartbeat, gives_up_a_peer_that_has_a_ping_whatever_holds_up_the_next) {
    heartbeat beat(100, 250, 0);
    beat.start(start);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    beat.note_written(start + 110ms);
    EXPECT_EQ(beat.check(start + 200ms), heartbeat::verdict::ping);
    beat.note_held_up(start + 300ms);
    beat.note_written(start + 310ms);
    EXPECT_EQ(beat.check(start + 359ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.check(start + 360ms), heartbeat::verdict::dead);
}

TEST(heartbeat, takes_no_octets_for_a_ping_where_none_is_waited_for) {
    heartbeat beat(100, 250, 0);
    beat.start(start);
    beat.note_held_up(start + 50ms);
    beat.note_written(start + 60ms);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    beat.note_held_up(start + 340ms);
    EXPECT_NE(beat.check(start + 589ms), heartbeat::verdict::dead);
    EXPECT_EQ(beat.check(start + 590ms), heartbeat::verdict::dead);
}

TEST(heartbeat, measures_from_the_writing_of_a_ping_to_its_answer) {
    heartbeat beat(100, 1000, 0);
    beat.start(start);
    EXPECT_LT(beat.note_pong(start + 50ms, 0), 0ns) << "nobody has asked";
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    const std::uint32_t first = beat.number_next();
    beat.note_written(start + 130ms);  // behind a long message
    beat.note_traffic(start + 137ms);
    EXPECT_LT(beat.note_pong(start + 137ms, first + 1), 0ns) << "not asked yet";
    EXPECT_EQ(beat.note_pong(start + 137ms, first), 7ms);
    EXPECT_LT(beat.note_pong(start + 138ms, first), 0ns) << "the answer has come";
    beat.note_written(start + 150ms);  // something else
    EXPECT_LT(beat.note_pong(start + 160ms, first), 0ns);
    EXPECT_EQ(beat.check(start + 200ms), heartbeat::verdict::ping);
    const std::uint32_t second = beat.number_next();
    beat.note_written(start + 200ms);
    EXPECT_LT(beat.note_pong(start + 202ms, first), 0ns) << "once more";
    EXPECT_EQ(beat.note_pong(start + 203ms, second), 3ms);
}

/// The times that are measured with a peer that answers after `delay`, but leaves every
/// `left_out`th PING unanswered; 0 for none.
std::vector<std::chrono::nanoseconds> measure(std::chrono::milliseconds delay, std::uint32_t left_out) {
    heartbeat beat(100, 0, 0);
    beat.start(start);
    std::vector<std::pair<heartbeat::time_point, std::uint32_t>> answers;
    std::vector<std::chrono::nanoseconds> measured;
    for (auto now = start; now < start + 20s; now += 10ms) {
        if (beat.check(now) == heartbeat::verdict::ping) {
            const std::uint32_t number = beat.number_next();
            beat.note_written(now);
            if (left_out == 0 || number % left_out != 0)
                answers.emplace_back(now + delay, number);
        }
        if (!answers.empty() && answers.front().first == now) {
            const std::uint32_t number = answers.front().second;
            answers.erase(answers.begin());
            beat.note_traffic(now);
            if (const auto time = beat.note_pong(now, number); time >= 0ns)
                measured.push_back(time);
        }
    }
    return measured;
}

TEST(heartbeat, measures_peers_that_take_longer_than_an_interval_and_such_that_leave_some_out) {
    for (const auto delay : {10ms, 250ms, 2500ms}) {
        for (const std::uint32_t left_out : {0u, 7u, 3u}) {
            const auto measured = measure(delay, left_out);
            EXPECT_GE(measured.size(), 1u) << delay.count() << " " << left_out;
            for (const auto each : measured)
                EXPECT_EQ(each, delay) << left_out;
        }
    }
}

TEST(heartbeat, takes_the_interval_for_a_timeout_that_is_not_set) {
    heartbeat beat(100, -1, 0);
    beat.start(start);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    EXPECT_EQ(beat.check(start + 199ms), heartbeat::verdict::quiet);
    EXPECT_EQ(beat.check(start + 200ms), heartbeat::verdict::dead);
}

TEST(heartbeat, never_gives_up_with_a_timeout_of_zero) {
    heartbeat beat(100, 0, 0);
    beat.start(start);
    for (int i = 1; i < 1000; ++i)
        EXPECT_EQ(beat.check(start + i * 100ms), heartbeat::verdict::ping);
}

TEST(heartbeat, counts_any_traffic_as_an_answer_even_at_the_time_of_the_ping) {
    heartbeat beat(100, 50, 0);
    beat.start(start);
    EXPECT_EQ(beat.check(start + 100ms), heartbeat::verdict::ping);
    beat.note_traffic(start + 100ms);
    EXPECT_EQ(beat.deadline(), start + 200ms);
    EXPECT_EQ(beat.check(start + 199ms), heartbeat::verdict::quiet);
}

TEST(heartbeat, honours_every_ttl_of_the_peer) {
    for (unsigned ttl = 1; ttl <= 65535; ++ttl) {
        heartbeat beat(0, -1, 0);
        beat.start(start);
        beat.set_peer_ttl(static_cast<std::uint16_t>(ttl));
        const auto death = start + ttl * 100ms;
        ASSERT_EQ(beat.deadline(), death);
        ASSERT_EQ(beat.check(death - 1ms), heartbeat::verdict::quiet);
        ASSERT_EQ(beat.check(death), heartbeat::verdict::dead);
    }
}

TEST(heartbeat, counts_the_ttl_from_the_latest_traffic) {
    heartbeat beat(0, -1, 0);
    beat.start(start);
    beat.set_peer_ttl(10);
    beat.note_traffic(start + 900ms);
    EXPECT_EQ(beat.check(start + 1899ms), heartbeat::verdict::quiet);
    EXPECT_EQ(beat.check(start + 1900ms), heartbeat::verdict::dead);
}

TEST(heartbeat, has_no_time_limit_with_a_ttl_of_zero) {
    heartbeat beat(0, -1, 0);
    beat.start(start);
    beat.set_peer_ttl(10);
    beat.set_peer_ttl(0);
    EXPECT_EQ(beat.deadline(), heartbeat::time_point::max());
    EXPECT_EQ(beat.check(start + 100h), heartbeat::verdict::quiet);
}

TEST(heartbeat, announces_its_ttl_in_tenths_of_a_second) {
    EXPECT_EQ(heartbeat(1, 1, 1234).ttl(), 12);
    EXPECT_EQ(heartbeat(1, 1, 99).ttl(), 0);
    EXPECT_EQ(heartbeat(1, 1, 6553599).ttl(), 65535);
}

}  // namespace
}  // namespace zlink
