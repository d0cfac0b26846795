// When the I/O thread leaves a connection alone, and why. deferral_test and collector_test have how
// long each takes.
#include "session/io_pause.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

using namespace std::chrono_literals;
using reason = io_pause::reason;

class io_pause_test : public ::testing::Test {
protected:
    io_pause_test() { subject.note_drained(now); }
    /// So many small writes follow each other. Whether the last of them begins to collect.
    bool collects_after(int writes) {
        bool collects = false;
        for (int i = 0; i < writes; ++i)
            collects = subject.collects_after(now += 1us, 100, 1);
        return collects;
    }

    io_pause subject;
    time_point now{1h};
};

TEST_F(io_pause_test, is_none_at_first_and_when_the_thread_is_back) {
    EXPECT_FALSE(subject.is_on());
    subject.leave_to_others(now);
    EXPECT_EQ(subject.why(), reason::stream_is_busy);
    EXPECT_EQ(subject.until(), now + write_policy::pause_for_others);
    subject.end();
    EXPECT_EQ(subject.why(), reason::none);
}

TEST_F(io_pause_test, is_for_a_sender_that_has_written_since_the_last) {
    EXPECT_FALSE(subject.is_sender_at_it(now));
    subject.note_senders_write(1 << 30);
    EXPECT_TRUE(subject.is_sender_at_it(now));
    subject.leave_to_sender(now);
    EXPECT_EQ(subject.why(), reason::sender_writes);
    EXPECT_EQ(subject.until(), now + 100us);
    EXPECT_FALSE(subject.is_sender_at_it(now)) << "it has not gone on";
    subject.note_senders_write(1);
    EXPECT_TRUE(subject.is_sender_at_it(now));
}

TEST_F(io_pause_test, for_a_sender_lasts_until_it_was_to_end_when_it_was_not_over) {
    subject.note_senders_write(1 << 30);
    subject.leave_to_sender(now);
    const time_point until = subject.until();
    subject.end();
    subject.note_senders_write(1 << 30);
    subject.leave_to_sender(now + 1us);
    EXPECT_EQ(subject.until(), until);
}

TEST_F(io_pause_test, lets_small_messages_collect_and_a_stream_of_the_senders_stops_that) {
    EXPECT_FALSE(collects_after(3));
    EXPECT_TRUE(collects_after(1));
    EXPECT_EQ(subject.why(), reason::messages_collect);
    EXPECT_EQ(subject.until(), now + 50us);
    EXPECT_TRUE(subject.collects_without_any(now)) << "it is not over";
    subject.leave_to_sender(now);
    EXPECT_EQ(subject.why(), reason::sender_writes);
    EXPECT_FALSE(subject.collects_without_any(now));
}

}  // namespace
}  // namespace zlink
