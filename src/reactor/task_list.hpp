// The two lists of tasks a loop keeps: those posted from anywhere, and those to run before it
// sleeps. Neither allocates.
//
// Threads:  task_list::push from any thread, the rest on the loop's. sleep_list on the loop's
//           thread only.
#pragma once

#include <limits>

#include "reactor/loop.hpp"

namespace zlink {

/// Tasks in the order they were posted. Many producers, one consumer, no locks.
class task_list {
public:
    /// Adds the task unless it is in the list already. Either way it runs after everything done
    /// before this call.
    void push(loop_task &task) noexcept {
        if (task.is_queued_.exchange(true, std::memory_order_acq_rel))
            return;
        loop_task *top = top_.load(std::memory_order_relaxed);
        do
            task.next_ = top;
        while (!top_.compare_exchange_weak(top, &task, std::memory_order_release, std::memory_order_relaxed));
    }

    bool is_empty() const noexcept { return !oldest_ && top_.load(std::memory_order_acquire) == nullptr; }

    /// Runs the tasks that are in the list now, the oldest first. Returns whether there were any.
    bool run_all() noexcept { return run_some(std::numeric_limits<unsigned>::max()); }
    /// Runs `most` of them. The others come before all that are posted meanwhile.
    bool run_some(unsigned most) noexcept {
        if (!oldest_)
            take_posted();
        const bool has_run = oldest_ != nullptr;
        for (; oldest_ && most > 0; --most) {
            loop_task &task = *oldest_;
            oldest_ = task.next_;
            // Reading what the last push wrote makes visible what was done before it. The task may
            // be posted again from here on, and may be gone once it has run.
            task.is_queued_.exchange(false, std::memory_order_acq_rel);
            task.run();
        }
        return has_run;
    }

private:
    void take_posted() noexcept {
        for (loop_task *newest = top_.exchange(nullptr, std::memory_order_acquire); newest;) {
            loop_task *const next = newest->next_;
            newest->next_ = oldest_;
            oldest_ = newest;
            newest = next;
        }
    }

    std::atomic<loop_task *> top_{nullptr};  // the newest
    loop_task *oldest_ = nullptr;            // of those that the consumer has taken
};

/// Tasks to run once before the loop sleeps.
class sleep_list {
public:
    void push(loop_task &task) noexcept {
        if (task.is_before_sleep_)
            return;
        task.is_before_sleep_ = true;
        task.next_before_sleep_ = first_;
        first_ = &task;
    }

    bool is_empty() const noexcept { return first_ == nullptr; }

    /// Runs the tasks that are in the list now; what they push stays for the next time.
    void run_all() noexcept {
        loop_task *task = first_;
        first_ = nullptr;
        while (task) {
            loop_task *next = task->next_before_sleep_;
            task->is_before_sleep_ = false;
            task->run();
            task = next;
        }
    }

private:
    loop_task *first_ = nullptr;
};

}  // namespace zlink
