// How often a thread looks, and how often it leaves that out.
#include "core/patience.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace {
thread_local int yields = 0;
}

// In the place of the C library's.
extern "C" int sched_yield() noexcept {
    ++yields;
    return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace zlink {
namespace {

TEST(patience, looks_until_it_is_there) {
    patience waits;
    int looks = 0;
    EXPECT_TRUE(waits.look_for(100, [&] { return ++looks == 7; }));
    EXPECT_EQ(looks, 7);
}

TEST(patience, gives_up_after_so_many_looks) {
    patience waits;
    std::size_t looks = 0;
    EXPECT_FALSE(waits.look_for(1000, [&] { return ++looks, false; }));
    EXPECT_EQ(looks, 1000u);
}

TEST(patience, lets_other_threads_have_the_processor_soon_and_then_now_and_then) {
    std::vector<int> looks_at_yields;
    int looks = 0;
    yields = 0;
    (void)patience().look_for(600, [&] {
        for (; yields > 0; --yields)
            looks_at_yields.push_back(looks);
        return ++looks, false;
    });
    EXPECT_EQ(looks_at_yields, (std::vector{16, 272, 528}));
    yields = looks = 0;
    (void)patience().look_for(
        10, [&] { return ++looks, false; }, 1);
    EXPECT_EQ(yields, 10);
}

TEST(patience, leaves_looking_out_twice_as_often_each_time_in_vain) {
    patience waits;
    int calls = 0;
    for (int in_vain = 1; in_vain <= 10; ++in_vain) {
        EXPECT_FALSE(waits.look_for(1, [&] { return ++calls, false; }));
        EXPECT_EQ(calls, in_vain);
        const int left_out = (1 << std::min(in_vain, 6)) - 1;
        for (int i = 0; i < left_out; ++i)
            EXPECT_FALSE(waits.look_for(1, [&] { return ++calls, true; }));
        EXPECT_EQ(calls, in_vain);
    }
    EXPECT_TRUE(waits.look_for(1, [] { return true; }));
    EXPECT_TRUE(waits.look_for(1, [] { return true; }));
}

TEST(patience, is_left_out_as_often_as_failures_say_that_nothing_made_up_for) {
    using enum patience::makes_up;
    patience waits;
    const auto left_out_after = [&](bool was_found, patience::makes_up what) {
        waits.note(was_found, what);
        int skips = 0;
        while (waits.take_skip())
            ++skips;
        return skips;
    };
    for (const int skips : {1, 3, 7, 15, 31, 63, 63})
        EXPECT_EQ(left_out_after(false, for_one), skips);
    for (const int skips : {31, 15, 7, 3, 1, 0, 0})
        EXPECT_EQ(left_out_after(true, for_one), skips);
    for (const int skips : {1, 3, 7})
        EXPECT_EQ(left_out_after(false, for_all), skips);
    EXPECT_EQ(left_out_after(true, for_all), 0);
}

}  // namespace
}  // namespace zlink
