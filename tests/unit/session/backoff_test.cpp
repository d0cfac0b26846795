// The delay before the next attempt to connect.
#include "session/backoff.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

namespace zlink {
namespace {

using std::chrono::milliseconds;

TEST(backoff, waits_the_interval_and_up_to_as_much_again) {
    backoff b(100, 0);
    EXPECT_EQ(b.next(0), milliseconds(100));
    EXPECT_EQ(b.next(99), milliseconds(199));
    EXPECT_EQ(b.next(100), milliseconds(100));
    EXPECT_EQ(b.next(250), milliseconds(150));
}

TEST(backoff, keeps_the_interval_without_a_maximum) {
    backoff b(100, 0);
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(b.next(0), milliseconds(100));
}

TEST(backoff, doubles_up_to_the_maximum) {
    backoff b(100, 500);
    EXPECT_EQ(b.next(0), milliseconds(100));
    EXPECT_EQ(b.next(0), milliseconds(200));
    EXPECT_EQ(b.next(0), milliseconds(400));
    EXPECT_EQ(b.next(0), milliseconds(500));
    EXPECT_EQ(b.next(0), milliseconds(500));
}

TEST(backoff, never_exceeds_the_maximum_with_the_random_part) {
    backoff b(100, 250);
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const milliseconds delay = b.next(i * 7919);
        EXPECT_GE(delay, milliseconds(100));
        EXPECT_LE(delay, milliseconds(250));
    }
}

TEST(backoff, doubles_up_to_half_a_minute_for_who_is_refused_each_time_where_there_is_no_maximum) {
    backoff b(100, 0);
    for (const int delay : {100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000})
        EXPECT_EQ(b.next(0, true), milliseconds(delay));
    EXPECT_EQ(b.next(0), milliseconds(100)) << "for another reason";
    EXPECT_EQ(b.next(0, true), milliseconds(100));
    EXPECT_EQ(b.next(0, true), milliseconds(200));
}

TEST(backoff, keeps_to_the_maximum_and_to_a_longer_interval_for_who_is_refused) {
    backoff with_maximum(100, 300), long_one(60000, 0);
    for (const int delay : {100, 200, 300, 300})
        EXPECT_EQ(with_maximum.next(0, true), milliseconds(delay));
    EXPECT_EQ(long_one.next(0, true), milliseconds(60000));
    EXPECT_EQ(long_one.next(0, true), milliseconds(60000));
}

TEST(backoff, begins_anew_after_a_reset) {
    backoff b(100, 10000);
    for (int i = 0; i < 5; ++i)
        (void)b.next(0);
    b.reset();
    EXPECT_EQ(b.next(0), milliseconds(100));
    EXPECT_EQ(b.next(0), milliseconds(200));
}

TEST(backoff, takes_a_maximum_not_above_the_interval_for_none) {
    backoff equal(100, 100), below(100, 50);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(equal.next(99), milliseconds(199));
        EXPECT_EQ(below.next(99), milliseconds(199));
    }
}

TEST(backoff, does_not_wait_with_an_interval_of_zero_or_less) {
    EXPECT_EQ(backoff(0, 0).next(12345), milliseconds(0));
    EXPECT_EQ(backoff(-1, 0).next(12345), milliseconds(0));
    EXPECT_EQ(backoff(0, 1000).next(12345), milliseconds(0));
}

TEST(backoff, does_not_overflow_at_the_largest_numbers) {
    constexpr int largest = std::numeric_limits<int>::max();
    backoff b(largest / 2 + 1, largest);
    for (int i = 0; i < 5; ++i) {
        const milliseconds delay = b.next(std::numeric_limits<std::uint64_t>::max());
        EXPECT_GE(delay, milliseconds(largest / 2 + 1));
        EXPECT_LE(delay, milliseconds(largest));
    }
}

}  // namespace
}  // namespace zlink
