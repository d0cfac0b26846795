// Contract of an I/O thread: runs tasks and timers, one at a time, and sleeps when there is nothing
// to do.
//
// In life it is a thread around a Boost.Asio io_context (`io_threads`); in the simulator all loops
// are one thread with virtual time.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "core/error.hpp"
#include "core/waiter.hpp"
#include "memory/block.hpp"
#include "reactor/costly_work.hpp"
#include "reactor/shedding.hpp"

namespace zlink {

/// Work that can be queued on a loop without allocation. One object is queued at most
/// once at a time.
class loop_task {
public:
    virtual ~loop_task() = default;
    /// On the loop's thread. Everything that happened before post() is visible.
    virtual void run() noexcept = 0;

private:
    friend class task_list;  // the loop's bookkeeping
    friend class sleep_list;
    std::atomic<bool> is_queued_{false};
    bool is_before_sleep_ = false;
    loop_task *next_ = nullptr;
    loop_task *next_before_sleep_ = nullptr;
};

class timer {
public:
    virtual ~timer() = default;  // cancels; never called back afterwards
    /// (Re)starts the timer; a pending expiry is forgotten. Loop thread only, as are all functions
    /// here.
    virtual void expires_at(time_point when) noexcept = 0;
    virtual void cancel() noexcept = 0;
    virtual bool is_pending() const noexcept = 0;
};

class loop {
public:
    virtual ~loop() = default;

    /// Runs `task` soon on the loop's thread. Any thread. A task already queued and not yet begun
    /// is not queued again. The caller keeps the task alive until it has run: tasks of shared
    /// objects hold a reference while queued.
    virtual void post(loop_task &task) noexcept = 0;
    /// Runs a function soon on the loop's thread. Any thread. Allocates: for rare work (bind,
    /// connect, close).
    virtual error post(std::function<void()> work) noexcept = 0;
    /// Does post(function), and returns when it has run. Not from a loop thread.
    virtual error post_and_wait(const std::function<void()> &work) noexcept = 0;

    /// Runs `task` once before the loop next sleeps, behind one heavy_fence() for all of them. Loop
    /// thread only. For readers that have armed a queue and must look again.
    virtual void run_before_sleep(loop_task &task) noexcept = 0;

    /// A timer that calls `on_expiry` on the loop's thread. Loop thread only. Null when memory is
    /// short.
    virtual std::unique_ptr<timer> make_timer(std::function<void()> on_expiry) noexcept = 0;

    /// Loop thread only.
    virtual time_point now() const noexcept = 0;

    /// A slot for the block that reads on this thread go to; the layer session fills and replaces
    /// it. Loop thread only.
    block_ref scratch;

    /// The list of what makes way where descriptors run out. Loop thread only.
    shed_list sheddables;

    /// The list of what takes long, and shares the loop's time with all else. Loop thread only.
    costly_list costly;
};

}  // namespace zlink
