// When small messages may come together before they are written. The test sets the clock.
#include "session/collector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace zlink {
namespace {

using std::chrono::microseconds;

constexpr std::size_t message_size = 66;
constexpr microseconds interval{50};

struct collecting : ::testing::Test {
    /// A write of so many small messages, `after` the one before.
    bool write(std::uint64_t messages, microseconds after, std::size_t octets_each = message_size) {
        now_ += after;
        return subject_.note_written(now_, messages * octets_each, messages);
    }
    void make_it_collect() {
        for (int i = 0; i < 3; ++i)
            EXPECT_FALSE(write(2, microseconds(5)));
        EXPECT_TRUE(write(2, microseconds(5)));
    }
    collector subject_;
    time_point now_{std::chrono::hours(1)};
};

TEST_F(collecting, begins_with_the_fourth_small_write_in_a_row) {
    make_it_collect();
    EXPECT_EQ(subject_.due(), now_ + interval);
}

TEST_F(collecting, does_not_begin_when_writes_are_apart) {
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(write(2, microseconds(25)));
    for (int i = 0; i < 2; ++i)
        EXPECT_FALSE(write(2, microseconds(24)));
    EXPECT_TRUE(write(2, microseconds(24)));
}

TEST_F(collecting, does_not_begin_with_the_end_of_another_row) {
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(write(2, microseconds(5)));
    EXPECT_FALSE(write(2, microseconds(30)));
    EXPECT_FALSE(write(2, microseconds(5)));
    EXPECT_FALSE(write(2, microseconds(5)));
    EXPECT_TRUE(write(2, microseconds(5)));
}

TEST_F(collecting, does_not_begin_with_writes_that_are_worth_it) {
    for (int i = 0; i < 100; ++i)
        EXPECT_FALSE(write(1, microseconds(5), 4 * 1024 + 1));
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(write(1, microseconds(5), 4 * 1024));
    EXPECT_TRUE(write(1, microseconds(5), 4 * 1024));
}

TEST_F(collecting, goes_on_as_long_as_enough_comes_together) {
    make_it_collect();
    for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(write(16, interval));
    EXPECT_FALSE(write(15, interval));
    EXPECT_FALSE(write(16, microseconds(5)));
}

TEST_F(collecting, counts_what_is_written_before_it_is_due) {
    make_it_collect();
    const time_point due = subject_.due();
    EXPECT_TRUE(write(8, microseconds(20)));
    EXPECT_TRUE(subject_.note_nothing(now_));
    EXPECT_EQ(subject_.due(), due);
    EXPECT_TRUE(write(8, microseconds(30)));
    EXPECT_EQ(subject_.due(), due + interval);
    EXPECT_TRUE(write(8, microseconds(20)));
    EXPECT_FALSE(write(7, microseconds(30)));
}

TEST_F(collecting, ends_where_there_is_so_much_that_writes_need_not_wait) {
    make_it_collect();
    EXPECT_TRUE(write(32, interval, 1024));
    EXPECT_FALSE(write(32, interval, 1025));
    make_it_collect();
}

TEST_F(collecting, begins_half_as_often_each_time_it_was_in_vain) {
    for (int in_vain = 1; in_vain <= 10; ++in_vain) {
        make_it_collect();
        now_ += interval;
        EXPECT_FALSE(in_vain % 2 ? subject_.note_written(now_, message_size, 1)
                                 : subject_.note_nothing(now_));
        const int left_out = (1 << std::min(in_vain, 6)) - 1;
        for (int i = 0; i < 4 * left_out; ++i)
            EXPECT_FALSE(write(2, i == 0 ? microseconds(30) : microseconds(5)));
    }
    make_it_collect();
    EXPECT_TRUE(write(16, interval));
    EXPECT_FALSE(write(1, interval));
    EXPECT_FALSE(write(2, microseconds(30)));
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(write(2, microseconds(5)));
    make_it_collect();
}

TEST_F(collecting, forgets_everything_when_it_is_stopped) {
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(write(2, microseconds(5)));
    subject_.stop();
    make_it_collect();
    subject_.stop();
    make_it_collect();
}

}  // namespace
}  // namespace zlink
