// Tests how often a thread looks, and how often it leaves that out.
#include "core/patience.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {
thread_local int yields = 0;
}

// In the place of the C library's.
extern "C" int sched_yield() noexcept {
    ++yields;
    return 0;
}

namespace zlink {
namespace {

using namespace std::chrono_literals;

/// Time passes as the test says, and each time somebody asks for it.
struct scripted_clock final : clock_source {
    time_point now() const noexcept override {
        ++asks;
        return now_ += each_ask;
    }
    mutable time_point now_ = time_point{} + 1h;
    duration each_ask = 1us;
    mutable int asks = 0;
};

class patience_test : public ::testing::Test {
protected:
    template <class Look>
    bool look_for(std::size_t looks, Look &&look) {
        return waits.look_for(looks, look, rest, clock);
    }
    /// Looks once, and finds it. Whether it looked at all.
    bool looks() {
        bool has_looked = false;
        (void)look_for(1, [&] { return has_looked = true; });
        return has_looked;
    }
    /// A spin in the middle of which strangers had the processor for so long. Whether it found what
    /// it looked for.
    bool is_kept_away_for(duration away, bool is_found) {
        int looks = 0;
        return look_for(1000, [&] {
            if (++looks != 100)
                return false;
            clock.now_ += away;
            return is_found;
        });
    }

    patience waits;
    spin_rest rest;
    scripted_clock clock;
};

TEST_F(patience_test, looks_until_it_is_there) {
    int looks = 0;
    EXPECT_TRUE(look_for(100, [&] { return ++looks == 7; }));
    EXPECT_EQ(looks, 7);
}

TEST_F(patience_test, gives_up_after_so_many_looks) {
    std::size_t looks = 0;
    EXPECT_FALSE(look_for(1000, [&] { return ++looks, false; }));
    EXPECT_EQ(looks, 1000u);
}

TEST_F(patience_test, does_not_ask_for_the_time_when_it_finds_something_soon) {
    int looks = 0;
    EXPECT_TRUE(look_for(1000, [&] { return ++looks == 15; }));
    EXPECT_EQ(clock.asks, 0);
}

TEST_F(patience_test, asks_for_the_time_seldom) {
    EXPECT_FALSE(look_for(1000, [] { return false; }));
    EXPECT_EQ(clock.asks, 62);
}

TEST_F(patience_test, rests_after_a_spin_that_was_dear_though_it_found_what_it_looked_for) {
    EXPECT_TRUE(is_kept_away_for(5ms, true));
    EXPECT_FALSE(looks());
    clock.now_ += 5ms * spin_rest::times_as_long - 20us;
    EXPECT_FALSE(looks());
    clock.now_ += 40us;
    EXPECT_TRUE(looks());
}

TEST_F(patience_test, gives_up_when_it_was_kept_from_the_processor) {
    int all = 0;
    EXPECT_FALSE(look_for(1000, [&] {
        if (++all == 100)
            clock.now_ += 5ms;
        return false;
    }));
    EXPECT_LE(all, 112);
    EXPECT_FALSE(looks());
}

TEST_F(patience_test, never_yields) {
    yields = 0;
    EXPECT_FALSE(look_for(1000, [] { return false; }));
    EXPECT_EQ(yields, 0);
}

TEST_F(patience_test, does_not_rest_after_what_is_no_more_than_an_interrupt) {
    EXPECT_TRUE(is_kept_away_for(spin_rest::least_dear / 2, true));
    EXPECT_TRUE(looks());
}

TEST_F(patience_test, rests_no_longer_than_a_second) {
    EXPECT_TRUE(is_kept_away_for(1h, true));
    clock.now_ += 1s;
    EXPECT_TRUE(looks());
}

TEST_F(patience_test, does_not_ask_for_the_time_where_nothing_was_dear) {
    EXPECT_TRUE(looks());
    EXPECT_EQ(clock.asks, 0);
}

TEST_F(patience_test, shares_a_rest_with_all_who_look_on_a_thread) {
    EXPECT_TRUE(is_kept_away_for(5ms, true));
    patience other;
    EXPECT_FALSE(other.look_for(
        1, [] { return true; }, rest, clock));
}

TEST_F(patience_test, leaves_looking_out_twice_as_often_each_time_in_vain) {
    int calls = 0;
    for (int in_vain = 1; in_vain <= 10; ++in_vain) {
        EXPECT_FALSE(look_for(1, [&] { return ++calls, false; }));
        EXPECT_EQ(calls, in_vain);
        const int left_out = (1 << std::min(in_vain, 6)) - 1;
        for (int i = 0; i < left_out; ++i)
            EXPECT_FALSE(look_for(1, [&] { return ++calls, true; }));
        EXPECT_EQ(calls, in_vain);
    }
    EXPECT_TRUE(look_for(1, [] { return true; }));
    EXPECT_TRUE(look_for(1, [] { return true; }));
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
