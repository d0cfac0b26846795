// The lists of tasks that a loop keeps, without a loop.
#include "reactor/task_list.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace zlink {
namespace {

struct told_task final : loop_task {
    told_task(std::string &where, char as) : log(where), name(as) {}
    void run() noexcept override {
        log += name;
        if (then)
            then();
    }
    std::string &log;
    const char name;
    std::function<void()> then;
};

struct tasks_test : ::testing::Test {
    std::string log;
    told_task a{log, 'a'}, b{log, 'b'}, c{log, 'c'};
};

TEST_F(tasks_test, run_once_in_the_order_they_were_posted) {
    task_list list;
    EXPECT_TRUE(list.is_empty());
    EXPECT_FALSE(list.run_all());
    for (told_task *each : {&b, &a, &b, &c, &a})
        list.push(*each);
    EXPECT_FALSE(list.is_empty());
    EXPECT_TRUE(list.run_all());
    EXPECT_EQ(log, "bac");
    EXPECT_TRUE(list.is_empty());
    EXPECT_FALSE(list.run_all());
}

TEST_F(tasks_test, that_are_posted_while_the_list_runs_wait_for_the_next_time) {
    task_list list;
    a.then = [&] {
        list.push(a);
        list.push(b);  // queued still
        list.push(c);
    };
    list.push(a);
    list.push(b);
    list.run_all();
    EXPECT_EQ(log, "ab");
    a.then = nullptr;
    list.run_all();
    EXPECT_EQ(log, "abac");
    EXPECT_FALSE(list.run_all());
}

TEST_F(tasks_test, run_some_at_a_time_before_those_that_are_posted_meanwhile) {
    task_list list;
    a.then = [&] { list.push(a); };
    for (told_task *each : {&a, &b, &c})
        list.push(*each);
    EXPECT_TRUE(list.run_some(1));
    EXPECT_TRUE(list.run_some(1));
    EXPECT_EQ(log, "ab");
    EXPECT_TRUE(list.run_some(2));
    EXPECT_EQ(log, "abc");
    EXPECT_FALSE(list.is_empty());
    a.then = nullptr;
    EXPECT_TRUE(list.run_some(2));
    EXPECT_EQ(log, "abca");
    EXPECT_TRUE(list.is_empty());
    EXPECT_FALSE(list.run_some(2));
}

TEST_F(tasks_test, may_be_destroyed_when_they_run) {
    task_list list;
    struct brief final : loop_task {
        explicit brief(int &runs) : count(runs) {}
        void run() noexcept override {
            ++count;
            delete this;
        }
        int &count;
    };
    int runs = 0;
    for (int i = 0; i < 3; ++i)
        list.push(*new brief(runs));
    list.run_all();
    EXPECT_EQ(runs, 3);
}

TEST_F(tasks_test, before_a_sleep_run_once_and_what_they_ask_for_comes_before_the_next) {
    sleep_list list;
    list.push(a);
    list.push(a);
    list.push(b);
    a.then = [&] {
        list.push(a);
        list.push(c);
    };
    list.run_all();
    EXPECT_EQ(log.size(), 2u);
    EXPECT_FALSE(list.is_empty());
    a.then = nullptr;
    log.clear();
    list.run_all();
    EXPECT_EQ(log.size(), 2u);
    EXPECT_NE(log.find('a'), std::string::npos);
    EXPECT_NE(log.find('c'), std::string::npos);
    EXPECT_TRUE(list.is_empty());
}

TEST_F(tasks_test, may_be_in_both_lists) {
    task_list posted;
    sleep_list before_sleep;
    posted.push(a);
    before_sleep.push(a);
    posted.run_all();
    before_sleep.run_all();
    EXPECT_EQ(log, "aa");
}

}  // namespace
}  // namespace zlink
