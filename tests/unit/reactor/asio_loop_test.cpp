// A loop on the test's thread: the order of what it runs, timers, deferred calls, and its end.
// Threads are in tests/stress/reactor_test.cpp.
#include "reactor/asio_loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "reactor/deferred_call.hpp"
#include "support/driven_loop.hpp"
#include "support/scarce_memory.hpp"

#include <boost/asio/post.hpp>

namespace zlink {
namespace {

using namespace std::chrono_literals;
using test::driven_loop;
using test::scarce_memory;

struct noted_task final : loop_task {
    explicit noted_task(std::function<void()> what) : then(std::move(what)) {}
    void run() noexcept override { then(); }
    const std::function<void()> then;
};

struct loop_test : ::testing::Test {
    loop &io() { return *drive; }
    /// One that notes its name; due so long ago, or from now on.
    timer &set(char name, duration from_now) {
        all.push_back(io().make_timer([this, name] {
            log += name;
            if (then)
                then(name);
        }));
        all.back()->expires_at(base + from_now);
        return *all.back();
    }
    void TearDown() override { all.clear(); }

    std::optional<driven_loop> drive{std::in_place};
    // All that is set from here is due already; none has to be waited for.
    const time_point base = io().now() - 1h;
    std::string log;
    std::function<void(char)> then;
    std::vector<std::unique_ptr<timer>> all;
};

// ---- timers ----

using timers = loop_test;

TEST_F(timers, go_off_in_the_order_of_their_times_and_not_in_that_of_their_making) {
    std::string names = "abcdefghijklmnopqrstuvwxyz";
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::size_t at = (i * 7) % names.size();
        set(names[at], std::chrono::seconds(at));
    }
    drive->round();
    EXPECT_EQ(log, names);
    drive->round();
    EXPECT_EQ(log, names) << "each once";
}

TEST_F(timers, stay_in_order_whatever_is_cancelled_and_set_anew_meanwhile) {
    std::string names = "abcdefghijklmnopqrstuvwxyz";
    for (std::size_t i = 0; i < names.size(); ++i)
        set(names[(i * 11) % names.size()], std::chrono::seconds(i));
    // Every third goes, and every fourth comes in another place.
    std::string wanted;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i % 3 == 0)
            all[i]->cancel();
        else if (i % 4 == 0)
            all[i]->expires_at(base + 100s - std::chrono::seconds(i));
        EXPECT_EQ(all[i]->is_pending(), i % 3 != 0);
    }
    for (std::size_t i = 0; i < names.size(); ++i)
        if (i % 3 != 0 && i % 4 != 0)
            wanted += names[(i * 11) % names.size()];
    for (std::size_t i = names.size(); i-- > 0;)
        if (i % 3 != 0 && i % 4 == 0)
            wanted += names[(i * 11) % names.size()];
    drive->round();
    EXPECT_EQ(log, wanted);
}

TEST_F(timers, are_not_called_once_another_one_has_cancelled_destroyed_or_moved_them) {
    timer &cancelled = set('c', 2s);
    set('d', 3s);
    timer &moved = set('m', 4s);
    set('z', 5s);
    then = [&](char name) {
        if (name != 'a')
            return;
        cancelled.cancel();
        all[1].reset();
        moved.expires_at(base + 1000h);
        EXPECT_TRUE(moved.is_pending());
    };
    set('a', 1s);
    drive->round();
    EXPECT_EQ(log, "az");
}

TEST_F(timers, may_be_destroyed_by_their_own_call) {
    set('a', 1s);
    then = [&](char) { all.clear(); };
    drive->round();
    EXPECT_EQ(log, "a");
    EXPECT_TRUE(all.empty());
}

TEST_F(timers, that_set_themselves_anew_at_once_leave_others_their_turn) {
    int rounds = 0;
    std::string order;
    noted_task task([&] { order += 't'; });
    then = [&](char) {
        order += '.';
        if (++rounds < 100)
            all[0]->expires_at(base);
        if (rounds == 10)
            io().post(task);
    };
    set('a', 1s);
    drive->round();
    EXPECT_EQ(rounds, 100);
    const auto at = order.find('t');
    ASSERT_NE(at, std::string::npos);
    EXPECT_LT(at, 90u) << "the task had to wait for the timer to end";
}

TEST_F(timers, that_are_put_off_do_not_go_off_at_their_first_time) {
    timer &late = set('l', 2h);
    EXPECT_TRUE(late.is_pending());
    late.expires_at(base + 1s);
    late.expires_at(base + 3h);
    drive->round();
    EXPECT_EQ(log, "");
    EXPECT_TRUE(late.is_pending());
    late.expires_at(base);
    drive->round();
    EXPECT_EQ(log, "l");
    EXPECT_FALSE(late.is_pending());
}

TEST_F(timers, wake_the_loop_also_when_an_earlier_alarm_was_in_vain) {
    timer &first = set('f', 1h);  // now
    first.expires_at(io().now() + 1ms);
    first.expires_at(io().now() + 3ms);
    set('s', 1h).expires_at(io().now() + 2ms);
    drive->until([&] { return log.size() == 2; });
    EXPECT_EQ(log, "sf");
}

TEST_F(timers, go_on_after_one_that_throws) {
    set('a', 1s);
    set('b', 2s);
    then = [](char name) {
        if (name == 'a')
            throw std::runtime_error("on purpose");
    };
    drive->round();
    EXPECT_EQ(log, "ab");
}

TEST_F(timers, are_not_made_without_memory_and_need_none_afterwards) {
    int failures = 0;
    for (int n = 1; n < 10; ++n) {
        const scarce_memory scarce(n);
        std::unique_ptr<timer> made = io().make_timer([] {});
        if (!scarce_memory::has_failed()) {
            ASSERT_TRUE(made);
            break;
        }
        EXPECT_FALSE(made);
        ++failures;
    }
    EXPECT_GT(failures, 0);
    // Whatever was made can be set whatever there is.
    for (int i = 0; i < 100; ++i)
        set('a', 1s).cancel();
    set('b', 1000h);
    drive->round();
    const scarce_memory scarce(1);
    for (auto &each : all)
        each->expires_at(base + 999h);
    EXPECT_FALSE(scarce_memory::has_failed()) << "setting a timer allocates";
}

// ---- tasks ----

using tasks = loop_test;

TEST_F(tasks, run_in_order_with_functions_among_them) {
    std::string order;
    noted_task a([&] { order += 'a'; }), b([&] { order += 'b'; });
    io().post(a);
    EXPECT_EQ(io().post([&] { order += 'f'; }), error::none);
    io().post(b);
    io().post(a);
    EXPECT_EQ(order, "") << "never at once";
    drive->round();
    EXPECT_EQ(order, "afb");
}

TEST_F(tasks, posted_from_inside_run_in_the_same_round_but_after_those_before_them) {
    std::string order;
    noted_task c([&] { order += 'c'; });
    noted_task a([&] {
        order += 'a';
        io().post(c);
    });
    noted_task b([&] { order += 'b'; });
    io().post(a);
    io().post(b);
    drive->round();
    EXPECT_EQ(order, "abc");
}

// This is as connections do that hold input: each may take some time.
TEST_F(tasks, leave_a_handler_its_turn_though_there_are_many) {
    int run = 0, run_before_handler = 0;
    std::vector<std::unique_ptr<noted_task>> many;
    for (int i = 0; i < 100; ++i) {
        many.push_back(std::make_unique<noted_task>([&] {
            if (++run == 1)
                boost::asio::post(drive->io().context(), [&] { run_before_handler = run; });
        }));
        io().post(*many.back());
    }
    drive->round();
    EXPECT_EQ(run_before_handler, 16);
    EXPECT_EQ(run, 100);
}

TEST_F(tasks, get_their_turn_among_many_handlers_and_leave_them_theirs) {
    // Each side keeps itself going; neither keeps the other out.
    std::string order;
    int left = 1000;
    noted_task task([] {});
    std::function<void()> handle = [&] {
        order += 'h';
        if (--left > 0)
            boost::asio::post(drive->io().context(), handle);
    };
    noted_task again([&] { order += 't'; });
    boost::asio::post(drive->io().context(), [&] {
        handle();
        io().post(again);
    });
    drive->round();
    EXPECT_EQ(std::count(order.begin(), order.end(), 'h'), 1000);
    ASSERT_NE(order.find('t'), std::string::npos);
    EXPECT_LE(order.find('t'), 64u);

    order.clear();
    int rounds = 0;
    std::optional<noted_task> busy;
    busy.emplace([&] {
        order += 't';
        if (++rounds < 1000)
            io().post(*busy);
    });
    io().post(*busy);
    boost::asio::post(drive->io().context(), [&] { order += 'h'; });
    drive->round();
    EXPECT_EQ(rounds, 1000);
    EXPECT_LE(order.find('h'), 2u);
}

TEST_F(tasks, that_cannot_be_posted_without_memory_are_not_run_either) {
    bool has_run = false;
    const scarce_memory scarce(1);
    EXPECT_EQ(io().post([&] { has_run = true; }), error::no_memory);
    drive->round();
    EXPECT_FALSE(has_run);
}

TEST_F(tasks, before_a_sleep_come_last_and_once_and_before_the_loop_ends) {
    std::string order;
    noted_task posted([&] { order += 'p'; });
    noted_task look([&] {
        order += 'l';
        io().post(posted);  // what it found
    });
    io().run_before_sleep(look);
    io().run_before_sleep(look);
    set('t', 0s);
    then = [&](char) { order += 't'; };
    boost::asio::post(drive->io().context(), [&] { order += 'h'; });
    EXPECT_EQ(io().post([&] { order += 'f'; }), error::none);
    drive->round();
    EXPECT_EQ(order.size(), 5u) << order;
    EXPECT_EQ(order.substr(3), "lp") << order;
}

// ---- deferred calls ----

using deferred_calls = loop_test;

TEST_F(deferred_calls, come_once_later_and_not_when_they_are_given_up) {
    int calls = 0;
    deferred_call call(io(), [&] { ++calls; });
    call.schedule();
    call.schedule();
    EXPECT_EQ(calls, 0) << "never from inside";
    drive->round();
    EXPECT_EQ(calls, 1);
    call.schedule();
    call.cancel();
    drive->round();
    EXPECT_EQ(calls, 1);
    call.cancel();
    call.schedule();
    call.cancel();
    call.schedule();
    drive->round();
    EXPECT_EQ(calls, 2);
}

TEST_F(deferred_calls, may_ask_for_another_and_end_from_inside) {
    int calls = 0;
    std::unique_ptr<deferred_call> call;
    call = std::make_unique<deferred_call>(io(), [&] {
        if (const int now = ++calls; now < 3) {
            call->schedule();
            EXPECT_EQ(calls, now) << "from inside";
        } else {
            call->schedule();
            call.reset();
        }
    });
    call->schedule();
    drive->round();
    EXPECT_EQ(calls, 3);
    EXPECT_FALSE(call);
}

TEST_F(deferred_calls, may_be_destroyed_while_they_are_under_way) {
    int calls = 0;
    auto call = std::make_unique<deferred_call>(io(), [&] { ++calls; });
    call->schedule();
    call.reset();
    drive->round();
    EXPECT_EQ(calls, 0);
}

TEST_F(deferred_calls, need_no_memory_to_be_scheduled) {
    deferred_call call(io(), [] {});
    const scarce_memory scarce(1);
    for (int i = 0; i < 3; ++i) {
        call.schedule();
        drive->round();
    }
    EXPECT_FALSE(scarce_memory::has_failed());
}

// ---- the end ----

TEST_F(loop_test, may_end_with_timers_and_calls_under_way_whose_owners_are_gone) {
    bool has_run = false;
    {
        deferred_call call(io(), [&] { has_run = true; });
        call.schedule();
        set('l', 1000h);
        set('n', 0s);
        boost::asio::post(drive->io().context(), [] {});
        all.clear();
    }
    drive.reset();
    EXPECT_FALSE(has_run);
    EXPECT_EQ(log, "");
}

TEST_F(loop_test, runs_what_was_posted_after_its_end_when_it_is_told_to) {
    std::string order;
    EXPECT_EQ(io().post([&] { order += 'a'; }), error::none);
    drive->io().run_leftovers();
    EXPECT_EQ(order, "a");
    noted_task b([&] { order += 'b'; });
    EXPECT_EQ(io().post([&] {
        order += 'c';
        io().post(b);
    }),
              error::none);
    drive->io().run_leftovers();
    EXPECT_EQ(order, "acb");
}

}  // namespace
}  // namespace zlink
