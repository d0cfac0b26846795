// Whether other threads want the processor, by what they have used. The figures are the test's.
#include "reactor/neighbours.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

using namespace std::chrono_literals;

struct measured {
    /// Others have used so much of the time since the last call, and this thread so much.
    bool ask(duration time, duration others, duration own = 0ms) {
        now += time;
        used.by_process += others + own;
        used.by_this_thread += own;
        return it.want_processor(now, [this] {
            ++looks;
            return used;
        });
    }

    neighbours it;
    time_point now{1h};
    platform::processor_use used;
    int looks = 0;
};

TEST(neighbours, want_the_processor_that_they_share_with_this_thread) {
    measured one;
    (void)one.ask(0ms, 0ms);
    EXPECT_FALSE(one.ask(100ms, 12ms, 88ms));
    EXPECT_TRUE(one.ask(100ms, 13ms, 87ms));
    EXPECT_TRUE(one.ask(100ms, 95ms, 5ms));
    EXPECT_FALSE(one.ask(100ms, 0ms, 100ms)) << "there is nobody else";
}

TEST(neighbours, do_not_want_a_processor_where_there_is_one_for_each) {
    measured four;
    four.used.processors = 4;
    (void)four.ask(0ms, 0ms);
    EXPECT_FALSE(four.ask(100ms, 300ms, 100ms)) << "three besides this one";
    EXPECT_TRUE(four.ask(100ms, 320ms, 80ms));
}

TEST(neighbours, are_looked_at_for_long_enough_to_tell) {
    measured one;
    (void)one.ask(0ms, 0ms);
    EXPECT_FALSE(one.ask(9ms, 9ms));
    EXPECT_TRUE(one.ask(1ms, 1ms));
    EXPECT_TRUE(one.ask(9ms, 0ms, 9ms)) << "so it was";
    EXPECT_FALSE(one.ask(1ms, 0ms, 1ms));
    EXPECT_EQ(one.looks, 3) << "and no more often";
}

TEST(neighbours, are_not_judged_by_a_look_that_is_long_past) {
    measured one;
    one.now = time_point{200 * 24h};
    one.used.processors = 128;
    EXPECT_FALSE(one.ask(0ms, 0ms)) << "since the clock began";
    EXPECT_FALSE(one.ask(1h, 200h));
    EXPECT_TRUE(one.ask(100ms, 128 * 100ms));
}

}  // namespace
}  // namespace zlink
