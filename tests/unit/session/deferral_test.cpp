// When a connection is left to a sender that writes for itself. The test sets the clock.
#include "session/deferral.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

using std::chrono::microseconds;

struct deferring : ::testing::Test {
    /// Defers at a time when the I/O thread is due, and returns for how long.
    duration defer() {
        now_ = std::max(now_, due_);
        due_ = subject_.defer(now_, due_);
        return due_ - now_;
    }
    deferral subject_;
    time_point now_{std::chrono::hours(1)};
    time_point due_{};
};

TEST_F(deferring, is_for_longer_each_time_but_not_for_long) {
    for (const int expected : {100, 200, 400, 800, 800, 800})
        EXPECT_EQ(defer(), microseconds(expected));
}

TEST_F(deferring, begins_again_when_nothing_was_left) {
    (void)defer();
    (void)defer();
    subject_.note_drained(now_);
    EXPECT_EQ(defer(), microseconds(100));
}

TEST_F(deferring, does_not_put_off_what_is_due_already) {
    (void)defer();
    now_ += microseconds(99);
    EXPECT_EQ(subject_.defer(now_, due_), due_);
    EXPECT_EQ(defer(), microseconds(200)) << "that was no further time";
    now_ += microseconds(10);
    EXPECT_EQ(subject_.defer(now_, now_ + microseconds(50)), now_ + microseconds(50)) << "whoever said so";
}

TEST_F(deferring, takes_a_little_soon_after_the_last_time_for_a_stream_and_later_much) {
    constexpr std::uint64_t in_each_delay = 32 * 1024;
    subject_.note_drained(now_);
    EXPECT_EQ(subject_.octets_of_stream(now_), 1u);
    EXPECT_EQ(subject_.octets_of_stream(now_ + microseconds(199)), 1u);
    EXPECT_EQ(subject_.octets_of_stream(now_ + microseconds(200)), 2 * in_each_delay);
    EXPECT_EQ(subject_.octets_of_stream(now_ + microseconds(1000)), 10 * in_each_delay);
    now_ += microseconds(1000);
    (void)defer();
    EXPECT_EQ(subject_.octets_of_stream(now_ + microseconds(199)), 1u);
}

}  // namespace
}  // namespace zlink
