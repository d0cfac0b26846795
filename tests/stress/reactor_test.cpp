// The I/O threads under real threads: nothing posted is lost, whoever sleeps is woken, timers keep
// their promises.
#include "reactor/io_threads.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include "core/fence.hpp"
#include "memory/chunk.hpp"
#include "reactor/deferred_call.hpp"
#include "reactor/resolver.hpp"
#include "support/eventually.hpp"

namespace zlink {
namespace {

std::unique_ptr<io_threads> started(std::size_t count = 1, const thread_options &options = {}) {
    std::unique_ptr<io_threads> out;
    EXPECT_EQ(io_threads::make(count, options, out), error::none);
    return out;
}

struct counting_task final : loop_task {
    void run() noexcept override {
        runs.fetch_add(1);
        runs.notify_all();
    }
    void wait_for(int count) {
        for (int seen = runs; seen < count; seen = runs)
            runs.wait(seen);
    }
    std::atomic<int> runs{0};
};

TEST(io_threads, never_tell_less_time_when_a_thread_ends) {
    for (int round = 0; round < 300; ++round) {
        auto threads = started();
        EXPECT_TRUE(zlink_test::eventually([&] { return threads->numbers_of(0).busy > duration::zero(); }));
        std::atomic<bool> is_over{false};
        std::thread watcher([&] {
            for (duration before{}; !is_over.load(std::memory_order_relaxed);) {
                const duration now = threads->numbers_of(0).busy;
                ASSERT_GE(now, before);
                before = now;
            }
        });
        threads->stop();
        const duration at_the_end = threads->numbers_of(0).busy;
        is_over.store(true, std::memory_order_relaxed);
        watcher.join();
        EXPECT_GT(at_the_end, duration::zero());
        ASSERT_FALSE(HasFailure());
    }
}

TEST(loop, gives_back_what_traffic_has_left_idle) {
    counting_task occasion;  // outlives the threads that run it
    auto threads = started();
    auto pool = chunk_pool::make();
    std::vector<chunk *> used;
    for (int i = 0; i < 64; ++i)
        used.push_back(pool->allocate(64 * 1024));
    for (chunk *each : used)
        each->release();
    const std::size_t before = pool->idle_octets();
    EXPECT_TRUE(zlink_test::eventually([&] {
        threads->at(0).post(occasion);
        return pool->idle_octets() < before;
    }));
}

TEST(loop, runs_each_task_that_four_threads_hand_over_one_by_one) {
    auto threads = started();
    constexpr int rounds = 20000;
    std::vector<std::thread> posters;
    std::vector<std::unique_ptr<counting_task>> tasks;
    for (int i = 0; i < 4; ++i) {
        auto *task = tasks.emplace_back(std::make_unique<counting_task>()).get();
        posters.emplace_back([&, task] {
            // Each post finds the loop running, going to sleep or asleep; a lost one leaves this
            // thread waiting.
            for (int r = 1; r <= rounds; ++r) {
                threads->at(0).post(*task);
                task->wait_for(r);
            }
        });
    }
    for (auto &p : posters)
        p.join();
    for (auto &task : tasks)
        EXPECT_EQ(task->runs, rounds);
}

TEST(loop, runs_posted_functions_in_order_on_its_own_thread) {
    auto threads = started();
    loop &io = threads->at(0);
    std::thread::id loop_thread;
    ASSERT_EQ(io.post_and_wait([&] { loop_thread = std::this_thread::get_id(); }), error::none);
    EXPECT_NE(loop_thread, std::this_thread::get_id());
    constexpr int count = 20000;
    std::vector<int> next(4);
    bool is_in_order = true;
    std::vector<std::thread> posters;
    for (int p = 0; p < 4; ++p)
        posters.emplace_back([&, p] {
            for (int i = 0; i < count; ++i)
                ASSERT_EQ(io.post([&, p, i] {
                    is_in_order = is_in_order && next[p] == i && std::this_thread::get_id() == loop_thread;
                    ++next[p];
                }),
                          error::none);
        });
    for (auto &p : posters)
        p.join();
    ASSERT_EQ(io.post_and_wait([] {}), error::none);
    EXPECT_EQ(next, std::vector<int>(4, count));
    EXPECT_TRUE(is_in_order);
}

TEST(loop, shows_a_queued_task_what_was_written_before_each_post) {
    auto threads = started();
    struct adding_task final : loop_task {
        void run() noexcept override {
            seen.store(written.load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
        std::atomic<int> written{0}, seen{0};
    } task;
    for (int i = 1; i <= 100000; ++i) {
        task.written.store(i, std::memory_order_relaxed);
        threads->at(0).post(task);  // most find it queued already
    }
    ASSERT_EQ(threads->at(0).post_and_wait([] {}), error::none);
    EXPECT_EQ(task.seen, 100000);
}

// A reader that arms, sleeps and looks again, and a writer that posts only when it finds the reader
// armed.
struct armed_reader final : loop_task {
    explicit armed_reader(loop &where) : io(where), last_look(*this) {}

    void run() noexcept override {
        look();
        is_armed.store(true, std::memory_order_relaxed);
        io.run_before_sleep(last_look);
    }
    void look() noexcept {
        seen.store(published.load(std::memory_order_relaxed));
        seen.notify_all();
    }
    void publish(int value) noexcept {
        published.store(value, std::memory_order_relaxed);
        light_fence();
        if (is_armed.load(std::memory_order_relaxed) && is_armed.exchange(false))
            io.post(*this);
    }

    struct last_look_task final : loop_task {
        explicit last_look_task(armed_reader &r) : reader(r) {}
        void run() noexcept override {
            if (reader.published.load(std::memory_order_relaxed) == reader.seen.load())
                return;
            reader.is_armed.store(false, std::memory_order_relaxed);
            reader.run();
        }
        armed_reader &reader;
    };

    loop &io;
    last_look_task last_look;
    std::atomic<int> published{0}, seen{0};
    std::atomic<bool> is_armed{false};
};

TEST(loop, looks_again_before_it_sleeps) {
    auto threads = started();
    armed_reader reader(threads->at(0));
    threads->at(0).post(reader);
    constexpr int rounds = 50000;
    for (int i = 1; i <= rounds; ++i) {
        reader.publish(i);
        for (int seen = reader.seen; seen != i; seen = reader.seen)
            reader.seen.wait(seen);
    }
    EXPECT_EQ(reader.seen, rounds);
    threads->stop();
}

TEST(loop, survives_a_function_that_throws) {
    auto threads = started();
    ASSERT_EQ(threads->at(0).post([] { throw std::runtime_error("on purpose"); }), error::none);
    bool has_run = false;
    ASSERT_EQ(threads->at(0).post_and_wait([&] { has_run = true; }), error::none);
    EXPECT_TRUE(has_run);
}

TEST(deferred_call, comes_once_and_not_after_its_end) {
    auto threads = started();
    loop &io = threads->at(0);
    int calls = 0;
    std::unique_ptr<deferred_call> ends_itself;
    ASSERT_EQ(io.post_and_wait([&] {
        auto gone = std::make_unique<deferred_call>(io, [&] { calls += 100; });
        gone->schedule();
        gone.reset();
        ends_itself = std::make_unique<deferred_call>(io, [&] {
            ++calls;
            ends_itself.reset();
        });
        ends_itself->schedule();
        ends_itself->schedule();
        EXPECT_EQ(calls, 0);
    }),
              error::none);
    ASSERT_EQ(io.post_and_wait([] {}), error::none);
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(ends_itself);
}

TEST(timers, expire_in_the_order_of_their_times) {
    auto threads = started();
    loop &io = threads->at(0);
    std::vector<std::unique_ptr<timer>> timers;
    std::vector<int> expired;
    std::promise<void> all;
    constexpr int count = 500;
    ASSERT_EQ(io.post_and_wait([&] {
        const auto base = io.now();
        for (int i = 0; i < count; ++i) {
            const int rank = (i * 7919) % count;  // every rank once, in no order
            timers.push_back(io.make_timer([&, rank] {
                expired.push_back(rank);
                if (expired.size() == count)
                    all.set_value();
            }));
            timers.back()->expires_at(base + std::chrono::microseconds(20 * rank));
        }
    }),
              error::none);
    all.get_future().wait();
    EXPECT_TRUE(std::is_sorted(expired.begin(), expired.end()));
    EXPECT_EQ(io.post_and_wait([&] { timers.clear(); }), error::none);
}

TEST(timers, do_not_call_back_once_cancelled_destroyed_or_put_off) {
    auto threads = started();
    loop &io = threads->at(0);
    int wrong = 0, right = 0;
    std::unique_ptr<timer> cancelled, destroyed, put_off, ends_itself;
    std::promise<void> done;
    ASSERT_EQ(io.post_and_wait([&] {
        const auto soon = io.now() + std::chrono::milliseconds(1);
        cancelled = io.make_timer([&] { ++wrong; });
        destroyed = io.make_timer([&] { ++wrong; });
        put_off = io.make_timer([&, soon] {
            EXPECT_GE(io.now(), soon + std::chrono::milliseconds(4));
            EXPECT_FALSE(put_off->is_pending());
            ++right;
            done.set_value();
        });
        ends_itself = io.make_timer([&] {
            ++right;
            cancelled->cancel();
            destroyed.reset();
            ends_itself.reset();
            EXPECT_FALSE(cancelled->is_pending());
        });
        put_off->expires_at(soon);
        put_off->expires_at(soon + std::chrono::milliseconds(4));
        cancelled->expires_at(soon + std::chrono::milliseconds(1));
        destroyed->expires_at(soon + std::chrono::milliseconds(1));
        // The first to expire, so that the two above are still pending, even when all are due at
        // once.
        ends_itself->expires_at(soon);
        EXPECT_TRUE(cancelled->is_pending());
    }),
              error::none);
    done.get_future().wait();
    EXPECT_EQ(io.post_and_wait([&] {
        cancelled.reset();
        put_off.reset();
    }),
              error::none);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(right, 2);
}

TEST(timers, may_restart_themselves) {
    auto threads = started();
    loop &io = threads->at(0);
    std::unique_ptr<timer> again;
    int left = 50;
    std::promise<void> done;
    ASSERT_EQ(io.post_and_wait([&] {
        again = io.make_timer([&] {
            if (--left)
                again->expires_at(io.now());
            else
                done.set_value();
        });
        again->expires_at(io.now());
    }),
              error::none);
    done.get_future().wait();
    EXPECT_EQ(io.post_and_wait([&] { again.reset(); }), error::none);
}

TEST(io_threads, run_what_was_posted_before_they_stop) {
    auto threads = started(2);
    counting_task tasks[2];
    int functions = 0;
    for (int i = 0; i < 1000; ++i)
        ASSERT_EQ(threads->at(0).post([&] {
            ++functions;
            threads->at(1).post(tasks[1]);
        }),
                  error::none);
    threads->at(0).post(tasks[0]);
    threads->stop();
    EXPECT_EQ(functions, 1000);
    EXPECT_EQ(tasks[0].runs, 1);
    EXPECT_GE(tasks[1].runs, 1);
}

TEST(io_threads, may_go_as_soon_as_the_last_task_has_run) {
    for (int i = 0; i < 300; ++i) {
        auto threads = started();
        counting_task task;
        std::thread poster([&, io = &threads->at(0)] { io->post(task); });
        task.wait_for(1);
        threads.reset();  // the poster may not have returned yet
        poster.join();
    }
}

TEST(io_threads, choose_the_least_loaded_that_is_allowed) {
    auto threads = started(3);
    EXPECT_EQ(threads->choose(0), &threads->at(0));
    io_threads::add_load(threads->at(0));
    EXPECT_EQ(threads->choose(0), &threads->at(1));
    io_threads::add_load(threads->at(1));
    EXPECT_EQ(threads->choose(0), &threads->at(2));
    EXPECT_EQ(threads->choose(3), &threads->at(0));
    EXPECT_EQ(threads->choose(2), &threads->at(1));
    EXPECT_EQ(threads->choose(8), nullptr);
    io_threads::remove_load(threads->at(1));
    EXPECT_EQ(threads->choose(3), &threads->at(1));
}

TEST(io_threads, have_names_and_no_signals) {
    thread_options options;
    options.name_prefix = "a/";
    auto threads = started(2, options);
    char name[32] = {};
    sigset_t blocked;
    ASSERT_EQ(threads->at(1).post_and_wait([&] {
        ::pthread_getname_np(::pthread_self(), name, sizeof name);
        ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    }),
              error::none);
    EXPECT_STREQ(name, "a/ZMQbg/IO/1");
    EXPECT_EQ(::sigismember(&blocked, SIGINT), 1);
    EXPECT_EQ(::sigismember(&blocked, SIGTERM), 1);
    sigset_t ours;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &ours);
    EXPECT_EQ(::sigismember(&ours, SIGINT), 0);
}

int open_descriptors() {
    int count = 0;
    DIR *folder = ::opendir("/proc/self/fd");
    while (::readdir(folder))
        ++count;
    ::closedir(folder);
    return count;
}

TEST(io_threads, say_so_when_descriptors_run_out) {
    const int before = open_descriptors();
    rlimit kept;
    ::getrlimit(RLIMIT_NOFILE, &kept);
    bool has_failed = false, has_succeeded = false;
    for (rlim_t limit = 3; limit < 64 && !has_succeeded; ++limit) {
        rlimit low = kept;
        low.rlim_cur = limit;
        ::setrlimit(RLIMIT_NOFILE, &low);
        std::unique_ptr<io_threads> threads;
        const error e = io_threads::make(2, {}, threads);
        ::setrlimit(RLIMIT_NOFILE, &kept);
        has_failed |= e == error::too_many_files;
        has_succeeded |= e == error::none;
        EXPECT_TRUE(e == error::none || e == error::too_many_files) << to_errno(e);
    }
    EXPECT_TRUE(has_failed);
    EXPECT_TRUE(has_succeeded);
    EXPECT_EQ(open_descriptors(), before);
}

TEST(resolver, answers_numeric_addresses_and_names) {
    auto threads = started();
    loop &io = threads->at(0);
    std::unique_ptr<resolver> names;
    const auto ask = [&](const std::string &host, bool allow_ipv6, error &failure) {
        std::promise<std::vector<resolved_address>> answer;
        EXPECT_EQ(io.post_and_wait([&] {
            names->resolve(host, "80", allow_ipv6, [&](std::vector<resolved_address> found, error e) {
                failure = e;
                answer.set_value(std::move(found));
            });
        }),
                  error::none);
        return answer.get_future().get();
    };
    names = make_resolver(io);
    error failure;
    auto found = ask("127.0.0.1", false, failure);
    EXPECT_EQ(failure, error::none);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].address.ss_family, AF_INET);
    found = ask("::1", true, failure);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].address.ss_family, AF_INET6);
    found = ask("localhost", false, failure);
    EXPECT_EQ(failure, error::none);
    ASSERT_GE(found.size(), 1u);
    EXPECT_EQ(found[0].address.ss_family, AF_INET);
    EXPECT_TRUE(ask("", false, failure).empty());
    EXPECT_EQ(failure, error::invalid);
    EXPECT_TRUE(ask("::1", false, failure).empty());
    EXPECT_TRUE(failed(failure));
    EXPECT_EQ(io.post_and_wait([&] { names.reset(); }), error::none);
}

TEST(resolver, does_not_answer_once_destroyed) {
    auto threads = started();
    loop &io = threads->at(0);
    std::atomic<int> answers{0};
    for (const char *host : {"127.0.0.1", "localhost"})
        for (int i = 0; i < 50; ++i)
            EXPECT_EQ(io.post_and_wait([&] {
                auto names = make_resolver(io);
                names->resolve(host, "80", true, [&](std::vector<resolved_address>, error) { ++answers; });
            }),
                      error::none);
    threads.reset();
    EXPECT_EQ(answers, 0);
}

}  // namespace
}  // namespace zlink
