// Tests of the times that never fall.
#include "core/io_tally.hpp"

#include <gtest/gtest.h>

namespace {

using zlink::duration;
using zlink::rising_time;

TEST(rising_time, does_not_fall_behind_a_look_that_was_told) {
    rising_time time;
    EXPECT_EQ(time.raise(duration(7)), duration(7));
    EXPECT_EQ(time.raise(duration(5)), duration(7));
    EXPECT_EQ(time.raise(duration(9)), duration(9));
    EXPECT_EQ(time.raise(duration(7)), duration(9));
}

TEST(rising_time, keeps_its_value_where_there_is_no_clock_any_more) {
    rising_time time;
    EXPECT_EQ(time.raise(duration(-1)), duration::zero());
    EXPECT_EQ(time.raise(duration(3)), duration(3));
    EXPECT_EQ(time.raise(duration(-1)), duration(3));
}

}  // namespace
