// Blocking and waking: eventfd and poll behind the waiter's contract, and the rest of the platform.
#include "core/waiter.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <poll.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "busy_threads.hpp"
#include "cancelled_thread.hpp"
#include "core/finally.hpp"
#include "core/platform.hpp"
#include "job_control.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

struct waiting : ::testing::Test {
    const clock_source &clock = platform::steady_clock();
    std::unique_ptr<waiter> w = platform::make_waiter(clock);

    std::unique_ptr<wakeup> new_wakeup() {
        std::unique_ptr<wakeup> result;
        EXPECT_EQ(w->make_wakeup(result), error::none);
        return result;
    }
    static wait_item readable(const wakeup &level) { return {level.descriptor(), POLLIN, 0, &level, 0}; }
};

TEST_F(waiting, ends_at_the_deadline_and_not_before) {
    auto level = new_wakeup();
    wait_item item = readable(*level);
    const time_point deadline = clock.now() + 3ms + 300us;
    EXPECT_EQ(w->wait({&item, 1}, deadline), error::timed_out);
    EXPECT_GE(clock.now(), deadline);
    EXPECT_EQ(item.revents, 0);
}

TEST_F(waiting, looks_once_when_the_deadline_has_passed) {
    auto level = new_wakeup();
    wait_item item = readable(*level);
    EXPECT_EQ(w->wait({&item, 1}, time_point{}), error::timed_out);
    level->signal();
    EXPECT_EQ(w->wait({&item, 1}, time_point{}), error::none);
    EXPECT_EQ(item.revents, POLLIN);
}

/// Waits for so many levels, the first of which is raised in the end.
struct waiting_when_cancelled : waiting, ::testing::WithParamInterface<std::size_t> {
    waiting_when_cancelled() {
        for (std::size_t i = 0; i < GetParam(); ++i) {
            levels.push_back(new_wakeup());
            items.push_back(readable(*levels.back()));
            items.back().opening = levels.back()->opening();
        }
    }
    std::vector<std::unique_ptr<wakeup>> levels;
    std::vector<wait_item> items;
};

TEST_P(waiting_when_cancelled, comes_to_its_end_unless_it_is_the_callers) {
    bool has_waited = false;
    zlink_test::cancelled_thread victim([&] {
        EXPECT_EQ(w->wait(items, time_point::max()), error::none);
        EXPECT_EQ(w->wait(items, time_point{}), error::none);
        EXPECT_TRUE(levels[0]->clear());
        levels[1]->signal();
        EXPECT_TRUE(levels[1]->clear());
        has_waited = true;
        (void)w->wait_as_caller(items, time_point::max());
    });
    victim.await_sleep();
    victim.cancel();
    levels[0]->signal();
    EXPECT_EQ(victim.join(), PTHREAD_CANCELED);
    EXPECT_TRUE(has_waited);
}

TEST_P(waiting_when_cancelled, ends_the_thread_where_the_caller_sleeps) {
    bool is_unwound = false;
    zlink_test::cancelled_thread victim([&] {
        const finally over([&] { is_unwound = true; });
        (void)w->wait_as_caller(items, time_point::max());
    });
    victim.cancel_asleep();
    EXPECT_TRUE(is_unwound);
}

INSTANTIATE_TEST_SUITE_P(few_and_many, waiting_when_cancelled, ::testing::Values(2u, 40u));

TEST_F(waiting, returns_until_the_level_is_cleared) {
    auto level = new_wakeup();
    wait_item item = readable(*level);
    level->signal();
    level->signal();
    EXPECT_EQ(w->wait({&item, 1}, time_point::max()), error::none);
    EXPECT_EQ(w->wait({&item, 1}, time_point::max()), error::none);
    level->clear();
    EXPECT_EQ(w->wait({&item, 1}, time_point{}), error::timed_out);
    level->clear();
}

TEST_F(waiting, is_ended_by_another_thread) {
    auto level = new_wakeup();
    wait_item item = readable(*level);
    std::thread other([&] { level->signal(); });
    EXPECT_EQ(w->wait({&item, 1}, time_point::max()), error::none);
    other.join();
}

TEST_F(waiting, tells_which_of_many_items_is_ready) {
    std::vector<std::unique_ptr<wakeup>> levels;
    std::vector<wait_item> items;
    for (int i = 0; i < 100; ++i) {
        levels.push_back(new_wakeup());
        items.push_back(readable(*levels.back()));
    }
    levels[73]->signal();
    EXPECT_EQ(w->wait(items, time_point::max()), error::none);
    for (std::size_t i = 0; i < items.size(); ++i)
        EXPECT_EQ(items[i].revents, i == 73 ? POLLIN : 0);
}

/// More than are asked one by one: the system keeps them between the waits.
struct waiting_for_many : waiting {
    static constexpr std::size_t count = 100;

    waiting_for_many() {
        for (std::size_t i = 0; i < count; ++i)
            levels.push_back(new_wakeup());
    }
    std::vector<wait_item> all() const {
        std::vector<wait_item> items;
        for (const auto &level : levels)
            items.push_back(kept(*level));
        return items;
    }
    static wait_item kept(const wakeup &level) {
        wait_item item = readable(level);
        item.opening = level.opening();
        return item;
    }
    error look(std::vector<wait_item> &items) { return w->wait(items, time_point{}); }

    std::vector<std::unique_ptr<wakeup>> levels;
};

TEST_F(waiting_for_many, tells_which_are_ready_each_time) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    for (const std::size_t ready : {73u, 0u, 99u}) {
        levels[ready]->signal();
        EXPECT_EQ(w->wait(items, time_point::max()), error::none);
        for (std::size_t i = 0; i < count; ++i)
            EXPECT_EQ(items[i].revents, i == ready ? POLLIN : 0);
        levels[ready]->clear();
        EXPECT_EQ(look(items), error::timed_out);
    }
}

TEST_F(waiting_for_many, heeds_the_events_of_each_wait) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    items[5].events = POLLOUT;
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items[5].revents, POLLOUT);
    items[5].events = POLLIN;
    EXPECT_EQ(look(items), error::timed_out);
}

TEST_F(waiting_for_many, passes_over_what_is_not_listed_any_more) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    levels[0]->signal();
    items.erase(items.begin(), items.begin() + 10);
    const time_point deadline = clock.now() + 2ms;
    EXPECT_EQ(w->wait(items, deadline), error::timed_out);
    EXPECT_GE(clock.now(), deadline);
    levels[50]->signal();
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items[40].revents, POLLIN);
    levels[50]->clear();
    items = all();
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items[0].revents, POLLIN);
}

TEST_F(waiting_for_many, knows_a_new_descriptor_of_an_old_number) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    const int number = levels[7]->descriptor();
    levels[7].reset();
    levels[7] = new_wakeup();
    ASSERT_EQ(levels[7]->descriptor(), number);
    items = all();
    EXPECT_EQ(look(items), error::timed_out);
    levels[7]->signal();
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items[7].revents, POLLIN);
}

TEST_F(waiting_for_many, is_not_misled_by_a_closed_descriptor_whose_file_lives_on) {
    for (const bool is_number_taken : {true, false}) {
        std::vector<wait_item> items = all();
        EXPECT_EQ(look(items), error::timed_out);
        const int number = levels[7]->descriptor();
        const int alive = ::dup(number);
        levels[7]->signal();
        levels.erase(levels.begin() + 7);
        std::unique_ptr<wakeup> next;
        if (is_number_taken) {
            next = new_wakeup();
            ASSERT_EQ(next->descriptor(), number);
            levels.push_back(std::move(next));
        }
        items = all();
        EXPECT_EQ(look(items), error::timed_out);
        levels[50]->signal();
        EXPECT_EQ(look(items), error::none);
        EXPECT_EQ(items[50].revents, POLLIN);
        levels[50]->clear();
        ::close(alive);
    }
}

TEST_F(waiting_for_many, goes_on_after_the_process_was_stopped) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        std::vector<wait_item> items = all();
        ::_exit(static_cast<int>(w->wait(items, time_point::max())));
    }
    for (int i = 0; i < 20; ++i)
        ASSERT_TRUE(test::stop_and_continue(child)) << "it has ended";
    levels[50]->signal();
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(error::none));
    levels[50]->clear();
}

TEST_F(waiting_for_many, leaves_the_set_of_the_parent_alone_in_a_child_of_fork) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    const pid_t child = ::fork();
    if (child == 0) {
        items.resize(40);
        items[3].events = POLLOUT;
        const bool is_found = look(items) == error::none && items[3].revents == POLLOUT;
        ::_exit(is_found ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(look(items), error::timed_out);
    levels[99]->signal();
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items[99].revents, POLLIN);
}

TEST_F(waiting_for_many, waits_without_end_beside_what_is_not_listed_any_more) {
    std::vector<wait_item> items = all();
    EXPECT_EQ(look(items), error::timed_out);
    levels[0]->signal();
    items.erase(items.begin());
    std::thread other([&] { levels[50]->signal(); });
    EXPECT_EQ(w->wait(items, time_point::max()), error::none);
    EXPECT_EQ(items[49].revents, POLLIN);
    other.join();
}

TEST_F(waiting_for_many, finds_more_than_the_system_tells_at_once) {
    for (std::size_t i = count; i < 600; ++i)
        levels.push_back(new_wakeup());
    for (const auto &level : levels)
        level->signal();
    std::vector<wait_item> items = all();
    std::set<std::size_t> found;
    for (int turn = 0; turn < 10; ++turn) {
        EXPECT_EQ(look(items), error::none);
        for (std::size_t i = 0; i < items.size(); ++i)
            if (items[i].revents)
                found.insert(i);
    }
    EXPECT_EQ(found.size(), levels.size());
}

TEST_F(waiting_for_many, asks_one_by_one_where_the_system_refuses_the_set) {
    // In a thread of its own, which has no set yet.
    std::thread([&] {
        rlimit before{};
        ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
        std::vector<wait_item> items = all();
        levels[5]->signal();
        const rlimit none_left{static_cast<rlim_t>(levels.back()->descriptor()), before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
        const int spare = ::dup(0);
        EXPECT_LT(spare, 0) << "the limit does not hold";
        // poll(2) takes no more items than the limit allows.
        items.resize(40);
        EXPECT_EQ(look(items), error::none);
        EXPECT_EQ(items[5].revents, POLLIN);
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        levels[5]->clear();
        EXPECT_EQ(look(items), error::timed_out);
    }).join();
}

TEST_F(waiting_for_many, waits_while_the_process_ends) {
    EXPECT_EXIT(
        {
            std::vector<wait_item> items = all();
            (void)look(items);
            static auto *last = new std::function<void()>([&] {
                levels[99]->signal();
                const bool is_found = look(items) == error::none && items[99].revents == POLLIN;
                ::_exit(is_found ? 7 : 8);
            });
            std::atexit([] { (*last)(); });
            std::exit(0);
        },
        ::testing::ExitedWithCode(7), "");
}

TEST_F(waiting_for_many, asks_anew_for_descriptors_that_may_change) {
    std::vector<wait_item> items = all();
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    items.push_back({pipe[0], POLLIN, 0, nullptr, 0});
    EXPECT_EQ(look(items), error::timed_out);
    ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    EXPECT_EQ(look(items), error::none);
    EXPECT_EQ(items.back().revents, POLLIN);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST_F(waiting, skips_items_without_a_descriptor) {
    wait_item none{-1, 0, 0, nullptr, 0};
    EXPECT_EQ(w->wait({&none, 1}, time_point{}), error::timed_out);
    EXPECT_EQ(w->wait({}, time_point{}), error::timed_out);
}

TEST_F(waiting, is_interrupted_by_a_signal) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);

    zlink_test::busy_threads other;
    // A signal before poll() has begun is lost: keep sending.
    other.add([self = ::pthread_self()] {
        ::pthread_kill(self, SIGUSR1);
        std::this_thread::yield();
    });
    EXPECT_EQ(w->wait({}, time_point::max()), error::interrupted);
    other.stop();
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(platform, blocks_signals_behind_a_shield_and_restores_them) {
    sigset_t now;
    {
        const platform::signal_shield shield;
        ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
        EXPECT_EQ(::sigismember(&now, SIGTERM), 1);
        EXPECT_EQ(::sigismember(&now, SIGUSR1), 1);
    }
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    EXPECT_EQ(::sigismember(&now, SIGTERM), 0);
}

TEST(platform, cuts_long_thread_names) {
    std::thread([] {
        char name[32];
        platform::name_this_thread("ZMQbg/IO/0");
        ASSERT_EQ(::pthread_getname_np(::pthread_self(), name, sizeof name), 0);
        EXPECT_STREQ(name, "ZMQbg/IO/0");
        platform::name_this_thread("a name of more than fifteen octets");
        ASSERT_EQ(::pthread_getname_np(::pthread_self(), name, sizeof name), 0);
        EXPECT_STREQ(name, "a name of more ");
    }).join();
}

TEST(platform, pins_the_calling_thread) {
    std::thread([] {
        cpu_set_t before, after;
        ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof before, &before), 0);
        int first = 0;
        while (!CPU_ISSET(first, &before))
            ++first;
        EXPECT_EQ(platform::schedule_this_thread({.affinity = {first}}), error::none);
        ASSERT_EQ(::pthread_getaffinity_np(::pthread_self(), sizeof after, &after), 0);
        EXPECT_EQ(CPU_COUNT(&after), 1);
        EXPECT_TRUE(CPU_ISSET(first, &after));
    }).join();
}

TEST(platform, knows_the_peer_of_a_local_socket) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    platform::credentials who;
    EXPECT_TRUE(platform::peer_credentials(pair[0], who));
    EXPECT_EQ(who.pid, ::getpid());
    EXPECT_EQ(who.uid, ::getuid());
    EXPECT_EQ(who.gid, ::getgid());
    EXPECT_TRUE(platform::is_in_group(who.uid, who.gid, who.gid));
    EXPECT_FALSE(platform::is_in_group(4000000000u, 5, 6));
    ::close(pair[0]);
    ::close(pair[1]);
    EXPECT_FALSE(platform::peer_credentials(-1, who));
}

TEST(platform, has_nobody_look_again_who_is_not_to_spin) {
    EXPECT_FALSE(platform::make_waiter(platform::steady_clock(), false)->may_spin());
}

TEST(platform, counts_a_generation_in_the_child_of_fork) {
    const unsigned here = platform::fork_generation();
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(platform::fork_generation() == here + 1 ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(platform::fork_generation(), here);
}

TEST(platform, makes_numbers_that_do_not_repeat) {
    auto random = platform::make_random_source();
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i)
        seen.insert(random->next());
    EXPECT_EQ(seen.size(), 1000u);
}

TEST(platform, makes_other_numbers_after_fork) {
    auto random = platform::make_random_source();
    (void)random->next();
    int channel[2];
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::uint64_t theirs = random->next();
        ::_exit(::write(channel[1], &theirs, sizeof theirs) == sizeof theirs ? 0 : 1);
    }
    std::uint64_t theirs = 0;
    ASSERT_EQ(::read(channel[0], &theirs, sizeof theirs), ssize_t{sizeof theirs});
    ::waitpid(child, nullptr, 0);
    EXPECT_NE(theirs, random->next());
    ::close(channel[0]);
    ::close(channel[1]);
}

}  // namespace
}  // namespace zlink
