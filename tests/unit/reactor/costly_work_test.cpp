// Tests what takes long, and what else a loop has to do: who gets which part of the time. The time
// is told by the test.
#include "reactor/costly_work.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reactor/asio_loop.hpp"
#include "support/driven_loop.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;
using test::driven_loop;

struct noted_work final : costly_work {
    explicit noted_work(std::function<void()> what) : then(std::move(what)) {}
    void run_costly() noexcept override { then(); }
    const std::function<void()> then;
};

struct costly_lists : ::testing::Test {
    /// One that takes so long.
    noted_work &add(char name, duration takes, costly_list::rank where = costly_list::rank::begins) {
        all.push_back(std::make_unique<noted_work>([this, name, takes] {
            log += name;
            time += takes;
        }));
        list.add(*all.back(), where);
        return *all.back();
    }
    /// A round of the loop, in which others take so long; zero: they have nothing to do.
    std::string round(duration others) {
        time += others;
        log.clear();
        list.take_share(
            others > duration::zero(), [this] { return time; }, [this] { return is_processor_wanted; });
        return log;
    }

    costly_list list;
    time_point time{1h};
    std::string log;
    bool is_processor_wanted = false;  // by other threads
    std::vector<std::unique_ptr<noted_work>> all;
};

TEST_F(costly_lists, are_worked_through_where_others_have_nothing_to_do) {
    for (const char name : {'a', 'b', 'c'})
        add(name, 10ms);
    for (const char *name : {"a", "b", "c"})
        EXPECT_EQ(round(0ms), name);
    EXPECT_TRUE(list.is_empty());
}

TEST_F(costly_lists, leave_others_as_much_time_as_they_take) {
    for (const char name : {'a', 'b', 'c'})
        add(name, 10ms);
    EXPECT_EQ(round(1ms), "a") << "the first has waited for a turn";
    for (const char *name : {"b", "c"}) {
        for (int passed = 2; passed < 10; passed += 2)
            EXPECT_EQ(round(2ms), "");
        EXPECT_EQ(round(2ms), name);
    }
}

TEST_F(costly_lists, let_one_begin_after_seven_who_only_go_on) {
    add('!', 1ms);
    for (char name = 'a'; name <= 'p'; ++name)
        add(name, 1ms, costly_list::rank::goes_on);
    add('?', 1ms);
    std::string all_turns;
    while (!list.is_empty())
        all_turns += round(0ms);
    EXPECT_EQ(all_turns, "abcdefg!hijklmn?op");
}

TEST_F(costly_lists, take_as_much_time_as_others_where_these_take_much) {
    for (char name = 'a'; name <= 'z'; ++name)
        add(name, 2ms);
    EXPECT_EQ(round(10ms), "a");
    EXPECT_EQ(round(10ms), "bcde");
    EXPECT_EQ(round(10ms), "fghij");
}

TEST_F(costly_lists, owe_nothing_to_others_that_have_had_nothing_to_do) {
    add('a', 10s);
    add('b', 1ms);
    EXPECT_EQ(round(0ms), "a");
    EXPECT_EQ(round(0ms), "b");
    add('c', 1ms);
    EXPECT_EQ(round(2ms), "c");
}

TEST_F(costly_lists, still_owe_others_their_time_where_each_comes_alone) {
    add('a', 10ms);
    EXPECT_EQ(round(1ms), "a");
    add('b', 10ms);
    EXPECT_EQ(round(9ms), "");
    EXPECT_EQ(round(1ms), "b");
}

TEST_F(costly_lists, do_not_count_the_time_in_which_they_were_empty_as_others) {
    for (const char name : {'a', 'b', 'c'}) {
        add(name, 10ms);
        EXPECT_EQ(round(0ms), std::string(1, name));
        time += 1h;
    }
    add('d', 1ms);
    add('e', 1ms);
    EXPECT_EQ(round(1ms), "d");
    EXPECT_EQ(round(500us), "");
    EXPECT_EQ(round(500us), "e");
}

TEST_F(costly_lists, give_no_credit_for_the_time_in_which_only_strangers_were_there) {
    for (int i = 0; i < 100; ++i)
        add('s', 10ms, costly_list::rank::stranger);
    for (int i = 0; i < 1000; ++i)
        (void)round(10ms);
    for (const char name : {'a', 'b', 'c'})
        add(name, 10ms);
    EXPECT_EQ(round(1ms).front(), 'a');
    EXPECT_EQ(round(1ms).find('b'), std::string::npos) << "the second has to wait for its time";
}

TEST_F(costly_lists, give_no_credit_for_the_time_behind_a_stranger_that_has_gone) {
    for (const char name : {'a', 'b'})
        add(name, 10ms, costly_list::rank::stranger);
    EXPECT_EQ(round(1ms), "a");
    all.pop_back();  // it leaves the list by itself
    time += 1h;
    for (char name = 'c'; name <= 'z'; ++name)
        add(name, 1ms, costly_list::rank::stranger);
    EXPECT_EQ(round(1ms), "c") << "and no more, whatever has passed";
    EXPECT_EQ(round(30ms), "");
    EXPECT_EQ(round(1ms), "d");
}

TEST_F(costly_lists, do_not_make_strangers_pay_for_a_stop_of_the_thread) {
    add('a', 1s, costly_list::rank::stranger);
    EXPECT_EQ(round(1ms), "a");
    add('b', 1ms, costly_list::rank::stranger);
    EXPECT_EQ(round(309ms), "");
    EXPECT_EQ(round(1ms), "b");
}

TEST_F(costly_lists, finish_what_has_begun_before_they_begin_something) {
    add('a', 1ms);
    add('b', 1ms);
    add('x', 1ms, costly_list::rank::goes_on);
    add('y', 1ms, costly_list::rank::goes_on);
    for (const char *name : {"x", "y", "a", "b"})
        EXPECT_EQ(round(0ms), name);
}

TEST_F(costly_lists, hold_each_once_and_forget_who_ends) {
    noted_work &twice = add('a', 1ms);
    list.add(twice, costly_list::rank::goes_on);
    add('b', 1ms);
    all.pop_back();
    EXPECT_EQ(round(0ms), "a");
    EXPECT_TRUE(list.is_empty());
}

TEST_F(costly_lists, let_one_end_in_its_own_call_and_come_back) {
    std::unique_ptr<noted_work> ends;
    ends = std::make_unique<noted_work>([&] { ends.reset(); });
    int rounds = 0;
    std::unique_ptr<noted_work> comes_back;
    comes_back = std::make_unique<noted_work>([&] {
        if (++rounds < 3)
            list.add(*comes_back, costly_list::rank::goes_on);
    });
    list.add(*ends, costly_list::rank::begins);
    list.add(*comes_back, costly_list::rank::begins);
    while (!list.is_empty())
        round(0ms);
    EXPECT_EQ(rounds, 3);
    EXPECT_FALSE(ends);
}

// ---- strangers ----

TEST_F(costly_lists, leave_others_thirty_one_times_what_strangers_take) {
    for (const char name : {'a', 'b', 'c'})
        add(name, 1ms, costly_list::rank::stranger);
    EXPECT_EQ(round(1ms), "a");
    for (const char *name : {"b", "c"}) {
        for (int passed = 1; passed < 31; ++passed)
            EXPECT_EQ(round(1ms), "");
        EXPECT_EQ(round(1ms), name);
    }
}

TEST_F(costly_lists, let_strangers_in_one_a_turn_where_others_have_nothing_to_do) {
    for (const char name : {'a', 'b', 'c'})
        add(name, 10ms, costly_list::rank::stranger);
    for (const char *name : {"a", "b", "c"}) {
        EXPECT_EQ(round(0ms), name);
        EXPECT_EQ(list.rests_for(), 0ms);
    }
    EXPECT_TRUE(list.is_empty());
}

TEST_F(costly_lists, have_strangers_wait_where_other_threads_want_the_processor) {
    for (const char name : {'a', 'b', 'c'})
        add(name, 1ms, costly_list::rank::stranger);
    is_processor_wanted = true;
    EXPECT_EQ(round(0ms), "a");
    EXPECT_EQ(list.rests_for(), 31ms);
    time += 30ms;
    EXPECT_EQ(round(0ms), "");
    EXPECT_EQ(list.rests_for(), 1ms);
    time += 1ms;
    EXPECT_EQ(round(0ms), "b");
    EXPECT_EQ(list.rests_for(), 31ms);
    is_processor_wanted = false;
    EXPECT_EQ(round(0ms), "c");
    EXPECT_EQ(list.rests_for(), 0ms);
}

TEST_F(costly_lists, do_not_rest_with_strangers_where_somebody_goes_on) {
    for (const char name : {'a', 'b'})
        add(name, 1ms, costly_list::rank::stranger);
    is_processor_wanted = true;
    EXPECT_EQ(round(0ms), "a");
    EXPECT_EQ(list.rests_for(), 31ms);
    add('x', 1ms, costly_list::rank::goes_on);
    EXPECT_EQ(list.rests_for(), 0ms);
    add('y', 1ms, costly_list::rank::goes_on);
    EXPECT_EQ(round(0ms), "x");
    EXPECT_EQ(list.rests_for(), 0ms);
    EXPECT_EQ(round(0ms), "y");
}

TEST_F(costly_lists, do_not_have_those_who_go_on_wait_for_what_strangers_owe) {
    for (const char name : {'a', 'b'})
        add(name, 10ms, costly_list::rank::stranger);
    EXPECT_EQ(round(1ms), "a");
    add('x', 1ms, costly_list::rank::goes_on);
    EXPECT_EQ(round(1ms), "x");
}

TEST_F(costly_lists, do_not_count_what_strangers_take_as_the_time_of_others) {
    for (const char name : {'a', 'b'})
        add(name, 10ms, costly_list::rank::stranger);
    add('x', 10ms);
    add('y', 10ms);
    EXPECT_EQ(round(1ms), "xa");
    EXPECT_EQ(round(1ms), "") << "a has taken ten times as long as others have";
    EXPECT_EQ(round(9ms), "y");
}

// ---- in a loop ----

// By the loop's own clock: what it has measured of one is at least as long as what the one has
// measured of itself, and others have had at least as long as the loop has measured.
TEST(costly_work_of_a_loop, leaves_those_who_always_have_something_to_do_half_of_the_time) {
    driven_loop drive;
    asio_loop &io = drive.io();
    constexpr int count = 20;
    int left = count;
    time_point began{}, ended{};
    duration taken{}, left_to_others{};
    const auto spend = [&](duration how_long) {
        for (const time_point until = io.now() + how_long; io.now() < until;) {
        }
    };
    std::vector<std::unique_ptr<noted_work>> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(std::make_unique<noted_work>([&] {
            began = io.now();
            if (ended != time_point{})
                left_to_others += began - ended;
            EXPECT_GE(left_to_others, taken);
            spend(500us);
            ended = io.now();
            taken += ended - began;
            --left;
        }));
        io.costly.add(*all.back(), costly_list::rank::begins);
    }
    struct busy_task final : loop_task {
        void run() noexcept override { then(); }
        std::function<void()> then;
    } others;
    others.then = [&] {
        spend(100us);
        if (left > 0)
            io.post(others);
    };
    io.post(others);
    drive.round();
    EXPECT_EQ(left, 0);
}

}  // namespace
}  // namespace zlink
