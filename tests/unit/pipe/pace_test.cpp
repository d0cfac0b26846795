// When a sender writes by itself. The test sets the clock.
#include "pipe/flow/pace.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "lone_thread.hpp"

namespace zlink {
namespace {

using std::chrono::microseconds;

class pace_test : public ::testing::Test, protected clock_source {
protected:
    time_point now() const noexcept override { return at_; }
    void pass(duration d) { at_ += d; }
    bool allows(pace &one, std::uint32_t messages, bool is_awaited = false) {
        return one.allows(messages, habit, is_awaited);
    }
    /// A message that is written at once, which takes so long.
    void write(duration cost) {
        ASSERT_TRUE(allows(subject, 1));
        pass(cost);
        subject.note_written(habit);
    }
    /// Has the sender learn that a write costs so much.
    void learn(duration cost) {
        for (int i = 0; i < 50; ++i) {
            pass(std::chrono::milliseconds(1));
            write(cost);
        }
    }

    time_point at_{std::chrono::hours(1)};
    test::lone_thread thread;
    burst_habit habit;
    pace subject{*this, thread};
    pace other{*this, thread};  // of another socket
};

TEST_F(pace_test, looks_for_no_room_for_a_good_while_after_a_look_that_was_dear_though_there_was_room) {
    int looks = 0;
    thread.has_time = true;
    subject.look_for_room([&] {
        pass(std::chrono::milliseconds(5));  // strangers have the processor
        return ++looks == 1;
    });
    const auto look = [&] { return ++looks > 0; };
    other.look_for_room(look);
    EXPECT_EQ(looks, 1);
    pass(std::chrono::milliseconds(5) * spin_rest::times_as_long);
    other.look_for_room(look);
    EXPECT_EQ(looks, 2);
}

TEST_F(pace_test, the_thread_knows_how_long_it_has_written_large_bodies) {
    for (const int taken : {3, 4}) {
        const pace::large_write under_way(other);
        pass(std::chrono::milliseconds(taken));
    }
    EXPECT_EQ(thread.sends.in_large_writes, std::chrono::milliseconds(7));
}

TEST_F(pace_test, the_first_message_is_written_at_once) { EXPECT_TRUE(allows(subject, 1)); }

TEST_F(pace_test, a_message_that_follows_faster_than_a_write_is_left_to_the_other_thread) {
    learn(microseconds(10));
    pass(microseconds(9));
    EXPECT_FALSE(allows(subject, 1));
}

TEST_F(pace_test, a_message_that_follows_slowly_is_written_at_once) {
    learn(microseconds(10));
    pass(microseconds(11));
    EXPECT_TRUE(allows(subject, 1));
}

TEST_F(pace_test, the_time_counts_for_all_messages_since_the_last_sleeper) {
    learn(microseconds(10));
    pass(microseconds(30));
    EXPECT_FALSE(allows(subject, 4));
    pass(microseconds(41));
    EXPECT_TRUE(allows(subject, 4));
}

TEST_F(pace_test, a_message_that_was_left_begins_the_time_anew) {
    learn(microseconds(10));
    for (int i = 0; i < 5; ++i) {
        pass(microseconds(6));
        EXPECT_FALSE(allows(subject, 1)) << i;
    }
}

TEST_F(pace_test, a_sender_that_is_left_out_tries_again_after_a_while) {
    learn(microseconds(10));
    int left = 0;
    for (; left < 100 && !allows(subject, 1); ++left)
        pass(microseconds(6));
    EXPECT_LT(left, 20);
    subject.note_written(habit);  // it cost next to nothing
    for (int i = 0; i < 3; ++i) {
        pass(microseconds(6));
        write(microseconds(1));
    }
    EXPECT_FALSE(allows(subject, 1));  // within 1 µs
}

TEST_F(pace_test, a_sender_in_a_hurry_learns_nothing_by_being_left_out) {
    learn(microseconds(10));
    for (int i = 0; i < 1000; ++i) {
        pass(std::chrono::nanoseconds(500));
        EXPECT_FALSE(allows(subject, 1)) << i;
    }
    pass(microseconds(9));
    EXPECT_FALSE(allows(subject, 1));
}

TEST_F(pace_test, the_time_begins_with_the_end_of_the_write) {
    learn(microseconds(10));
    pass(std::chrono::milliseconds(1));
    ASSERT_TRUE(allows(subject, 1));
    pass(microseconds(500));  // a slow one
    subject.note_written(habit);
    pass(microseconds(5));
    EXPECT_FALSE(allows(subject, 1));
}

TEST_F(pace_test, a_sender_that_had_to_wait_writes_its_next_message_at_once) {
    learn(microseconds(10));
    subject.note_wait();
    EXPECT_TRUE(allows(subject, 100));
    pass(microseconds(10));
    subject.note_written(habit);
    EXPECT_FALSE(allows(subject, 1)) << "one wait counts for one write";
}

TEST_F(pace_test, a_thread_that_had_to_wait_by_one_socket_writes_its_next_message_by_another_at_once) {
    learn(microseconds(10));
    other.note_wait();
    EXPECT_FALSE(allows(subject, 2)) << "more than one to a wait";
    EXPECT_TRUE(allows(subject, 1));
    subject.note_written(habit);
    EXPECT_FALSE(allows(subject, 1)) << "one wait counts for one write";
    subject.note_wait();
    EXPECT_TRUE(allows(subject, 1));
    subject.note_written(habit);
    EXPECT_FALSE(allows(subject, 1));
}

TEST_F(pace_test, a_wait_counts_until_something_was_written) {
    learn(microseconds(10));
    subject.note_wait();
    EXPECT_TRUE(allows(subject, 1));
    EXPECT_TRUE(allows(subject, 1)) << "the turn was taken: nothing was written";
}

TEST_F(pace_test, a_thread_in_a_hurry_writes_for_a_few_of_its_sockets_only) {
    const clock_source &clock = *this;
    std::deque<pace> sockets;
    for (int i = 0; i < 100; ++i)
        sockets.emplace_back(clock, thread);
    for (int round = 0; round < 5; ++round) {
        int written = 0;
        for (pace &one : sockets) {
            pass(microseconds(1));
            one.note_wait();  // or it would be too soon for this one alone
            if (allows(one, 1)) {
                ++written;
                one.note_written(habit);
            }
        }
        EXPECT_EQ(written, round == 0 ? 4 : 0) << round;
    }
    pass(microseconds(30));
    EXPECT_TRUE(allows(sockets[50], 1)) << "after a pause";
}

TEST_F(pace_test, a_thread_with_two_sockets_writes_for_both) {
    for (int i = 0; i < 3; ++i) {
        pass(microseconds(100));
        write(microseconds(4));
        EXPECT_TRUE(allows(other, 1)) << i;
        other.note_written(habit);
    }
}

TEST_F(pace_test, what_a_peer_waits_for_is_written_at_once_by_the_busiest_thread) {
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(allows(subject, 1, true)) << i;
        subject.note_written(habit);
        EXPECT_FALSE(allows(subject, 1, false)) << i;
    }
}

TEST_F(pace_test, one_interrupted_write_does_not_count_for_long) {
    learn(microseconds(4));
    pass(std::chrono::milliseconds(1));
    write(std::chrono::seconds(1));
    pass(microseconds(9));  // 4 + (20 - 4) / 4 = 8
    EXPECT_TRUE(allows(subject, 1));
}

TEST_F(pace_test, a_write_never_counts_as_free) {
    learn(microseconds(0));
    EXPECT_FALSE(allows(subject, 1));
    pass(microseconds(2));
    EXPECT_TRUE(allows(subject, 1));
}

/// The bursts of one pipe, whose reader sleeps between the bursts.
class bursts_test : public pace_test {
protected:
    enum class first { written, left };

    /// Four messages, and what became of the first.
    first send_burst(duration pause = microseconds(100), duration gap = microseconds(1)) {
        pass(pause);
        const bool is_written = allows(subject, std::exchange(unwoken_, 0) + 1);
        if (is_written) {
            pass(microseconds(4));
            subject.note_written(habit);
            pass(gap);
            EXPECT_FALSE(allows(subject, 1)) << "the second one wakes the I/O thread";
        }
        unwoken_ = is_written ? 2 : 3;
        pass(3 * gap);
        return is_written ? first::written : first::left;
    }
    first send_one(duration pause) {
        pass(pause);
        if (!allows(subject, std::exchange(unwoken_, 0) + 1))
            return first::left;
        pass(microseconds(4));
        subject.note_written(habit);
        return first::written;
    }
    void begin_habit() {
        for (int i = 0; i < 17; ++i)
            (void)send_burst();
        ASSERT_EQ(send_burst(), first::left);
    }

    std::uint32_t unwoken_ = 0;  // messages since one woke the I/O thread
};

TEST_F(bursts_test, after_sixteen_the_first_message_is_left_to_the_thread_that_writes_the_others) {
    int written = 0;
    for (; written < 100 && send_burst() == first::written; ++written)
        ;
    EXPECT_EQ(written, 16);
}

TEST_F(bursts_test, waits_by_another_socket_change_no_habit) {
    begin_habit();
    other.note_wait();
    EXPECT_EQ(send_burst(), first::left);
}

TEST_F(bursts_test, one_in_seventeen_is_written_to_see_again) {
    begin_habit();
    std::string seen;
    for (int i = 0; i < 40; ++i)
        seen += send_burst() == first::written ? 'w' : '.';
    EXPECT_EQ(seen, "..............w................w........");
}

TEST_F(bursts_test, a_message_alone_ends_the_habit) {
    begin_habit();
    EXPECT_EQ(send_one(microseconds(100)), first::left) << "it might have been the first of a burst";
    for (int i = 0; i < 16; ++i)
        EXPECT_EQ(send_one(microseconds(100)), first::written) << i;
}

TEST_F(bursts_test, messages_at_a_steady_pace_never_are_one) {
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(send_one(microseconds(7)), first::written) << i;
}

TEST_F(bursts_test, bursts_without_pauses_between_them_are_none) {
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(send_burst(microseconds(45)), first::written) << i;
}

TEST_F(bursts_test, messages_that_follow_within_several_microseconds_are_none) {
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(send_burst(microseconds(100), microseconds(3)), first::written) << i;
}

TEST_F(bursts_test, messages_together_for_one_pipe_each_are_none) {
    std::array<burst_habit, 3> pipes;
    for (int i = 0; i < 100; ++i) {
        burst_habit &first = pipes[static_cast<std::size_t>(2 * i) % 3];
        pass(microseconds(100));
        ASSERT_TRUE(subject.allows(1, first)) << i;
        pass(microseconds(4));
        subject.note_written(first);
        pass(microseconds(1));
        EXPECT_FALSE(subject.allows(1, pipes[static_cast<std::size_t>(2 * i + 1) % 3]));
    }
}

TEST_F(bursts_test, a_sender_that_had_to_wait_writes_the_first_of_a_burst_at_once) {
    begin_habit();
    subject.note_wait();
    EXPECT_EQ(send_burst(), first::written);
}

TEST_F(bursts_test, what_a_peer_waits_for_is_written_at_once) {
    begin_habit();
    pass(microseconds(100));
    EXPECT_TRUE(allows(subject, 4, true));
}

}  // namespace
}  // namespace zlink
