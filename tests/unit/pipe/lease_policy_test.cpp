// Whose thread reads a connection, told the facts and the time.
#include "pipe/flow/lease_policy.hpp"

#include <gtest/gtest.h>

namespace zlink::lease_policy {
namespace {

using namespace std::chrono_literals;

// ---- work and waits ----

struct work_case {
    const char *name;
    duration waiting;  // before the work
    duration own;
    duration writing = 0ms;  // of these, large bodies
    duration copying = 0ms;
    bool is_little = true;
};

constexpr work_case work_cases[] = {
    {.name = "a moment", .waiting = 0us, .own = 999us},
    {.name = "a millisecond", .waiting = 0us, .own = 1ms, .is_little = false},
    {.name = "a copy of a large body is none", .waiting = 0us, .own = 5ms, .copying = 4500us},
    {.name = "what is done besides is", .waiting = 0us, .own = 5ms, .copying = 3500us, .is_little = false},
    {.name = "a large write is none, after as long a wait", .waiting = 4ms, .own = 5ms, .writing = 4500us},
    {.name = "of which a quarter may be missing", .waiting = 3375us, .own = 5ms, .writing = 4500us},
    {.name = "and no more: who reads ahead saves time",
     .waiting = 3374us,
     .own = 5ms,
     .writing = 4500us,
     .is_little = false},
};

TEST(work_account, says_what_is_little_work) {
    for (const work_case &each : work_cases) {
        SCOPED_TRACE(each.name);
        work_account account;
        const time_point begun{1h};
        account.begin_wait(begun);
        account.begin_wait(begun + 1us);  // listed again in the same wait
        account.end_wait(begun + each.waiting, 1s);
        account.note_copying(each.copying);
        const auto work = account.until(begun + each.waiting + each.own, [&] { return 1s + each.writing; });
        EXPECT_EQ(work.is_little, each.is_little);
        EXPECT_EQ(work.own, each.own - each.copying);
    }
}

TEST(work_account, asks_with_the_fourth_wait_in_a_row_and_twenty_waits_later_again) {
    work_account account;
    const auto waits_until_it_asks = [&] {
        int waits = 1;
        while (!account.asks(true))
            ++waits;
        return waits;
    };
    EXPECT_EQ(waits_until_it_asks(), 4);
    EXPECT_EQ(waits_until_it_asks(), 20);
    for (int i = 0; i < 3; ++i)
        EXPECT_FALSE(account.asks(true));
    EXPECT_FALSE(account.asks(false)) << "it has worked";
    for (int i = 0; i < 16; ++i)
        EXPECT_FALSE(account.asks(true));
}

// ---- too late ----

struct late_case {
    const char *name;
    bool is_large = true;
    bool found = true;
    duration waiting = 1ms;
    bool is_late = true;
};

constexpr late_case late_cases[] = {
    {.name = "large bodies that were there"},
    {.name = "small ones are read in no time", .is_large = false, .is_late = false},
    {.name = "the answer to a request was not there", .found = false, .is_late = false},
    {.name = "it waits three quarters as long as it works", .waiting = 4ms, .is_late = false},
};

TEST(lateness, is_seen_in_the_fourth_wait_after_the_first_that_was_for_what_was_there) {
    for (const late_case &each : late_cases) {
        SCOPED_TRACE(each.name);
        work_account account;
        lateness subject;
        time_point now{1h};
        account.end_wait(now, 0s);
        int waits_until_it_is = 0;
        for (int wait = 1; wait <= 9 && waits_until_it_is == 0; ++wait) {
            const auto work = account.until(now += 5ms, [] { return 0s; });
            if (subject.gives_back(
                    work, false, [&] { return each.is_large; }, account))
                waits_until_it_is = wait;
            account.begin_wait(now);
            subject.note_read(each.found);
            account.end_wait(now += each.waiting, 0s);
            subject.note_no_look();
        }
        EXPECT_EQ(waits_until_it_is, each.is_late ? 5 : 0);
    }
}

TEST(lateness, is_none_of_a_wait_for_room) {
    work_account account;
    lateness subject;
    time_point now{1h};
    account.end_wait(now, 0s);
    for (int i = 0; i < 9; ++i) {
        const auto work = account.until(now += 5ms, [] { return 0s; });
        EXPECT_FALSE(subject.gives_back(
            work, true, [] { return true; }, account));
        subject.note_read(true);
        account.end_wait(now, 0s);
    }
}

TEST(lateness, looks_at_the_first_read_before_any_sleep) {
    work_account account;
    lateness subject;
    EXPECT_FALSE(subject.looks_first());
    (void)subject.gives_back(
        {5ms, false}, false, [] { return true; }, account);
    EXPECT_TRUE(subject.looks_first());
    subject.note_no_look();
    EXPECT_FALSE(subject.looks_first());
}

// ---- how it is woken ----

TEST(wake_account, knows_a_thread_that_is_woken_eight_times_for_little) {
    for (const int reads : {0, 2, 3}) {
        SCOPED_TRACE(reads);
        wake_account account;
        const auto sleep = [&](bool is_for_one) {
            account.begin_sleep(time_point{1h}, is_for_one);
            account.end_sleep(time_point{1h} + 20us);
            for (int i = 0; i < reads; ++i)
                account.note_read();
        };
        for (int i = 0; i < 7; ++i)
            sleep(true);
        EXPECT_FALSE(account.is_for_little());
        for (int i = 0; i < 2; ++i)
            sleep(true);
        EXPECT_EQ(account.is_for_little(), reads <= few_reads);
        sleep(false);
        EXPECT_FALSE(account.is_for_little());
    }
}

TEST(wake_account, knows_a_sleep_that_was_none) {
    wake_account account;
    for (const auto &[slept, is_short] : {std::pair{2999ns, true}, {3000ns, false}}) {
        account.begin_sleep(time_point{1h}, true);
        account.end_sleep(time_point{1h} + slept);
        EXPECT_EQ(account.was_short(), is_short);
    }
}

// ---- which of many ----

TEST(dialogue, goes_both_ways_since_the_last_look) {
    dialogue subject;
    EXPECT_FALSE(subject.take(1, 0));
    EXPECT_FALSE(subject.take(1, 1));
    EXPECT_TRUE(subject.take(2, 2));
    EXPECT_FALSE(subject.take(2, 2));
}

// ---- the I/O thread ----

TEST(looks_at_leases, are_more_after_large_bodies) {
    EXPECT_EQ(more_looks_after(4 * 1024 * 1024 - 1), 0u);
    EXPECT_EQ(more_looks_after(4 * 1024 * 1024), 1u);
    EXPECT_EQ(more_looks_after(std::size_t{1} << 40), 8u);
}

struct look_facts {
    const char *name;
    bool has_been_used_ = false;
    bool is_used_ = false;
    std::uint32_t more_looks_ = 0;
    bool is_full_ = false;
    bool is_being_written_ = false;
    look_result answer = look_result::over;

    bool has_been_used() const { return has_been_used_; }
    bool is_used() const { return is_used_; }
    std::uint32_t more_looks() const { return more_looks_; }
    bool is_full() const { return is_full_; }
    bool is_being_written() const { return is_being_written_; }
};

constexpr look_facts look_cases[] = {
    {.name = "unused"},
    {.name = "used", .has_been_used_ = true, .answer = look_result::used},
    {.name = "used, and in use", .has_been_used_ = true, .is_used_ = true, .answer = look_result::used},
    {.name = "in a wait", .is_used_ = true, .answer = look_result::waits},
    {.name = "after a large body", .more_looks_ = 1, .answer = look_result::unused},
    {.name = "nobody would write the rest", .more_looks_ = 1, .is_full_ = true},
    {.name = "but its thread writes just now",
     .more_looks_ = 1,
     .is_full_ = true,
     .is_being_written_ = true,
     .answer = look_result::unused},
};

TEST(looks_at_leases, end_those_that_are_not_used) {
    for (const look_facts &each : look_cases)
        EXPECT_EQ(look_at_lease(each), each.answer) << each.name;
}

}  // namespace
}  // namespace zlink::lease_policy
