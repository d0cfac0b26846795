// A call that its owner gets a little later from its loop. Prepared in advance: scheduling it
// cannot fail.
//
// Threads:  the loop's, except construction.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "reactor/loop.hpp"

namespace zlink {

class deferred_call {
public:
    /// `function` may destroy this object. Throws std::bad_alloc.
    deferred_call(loop &io, std::function<void()> function) : task_(new task(io, std::move(function))) {}
    /// No call comes afterwards.
    ~deferred_call() {
        if (task_->now == task::state::idle)
            delete task_;
        else
            task_->now = task::state::orphaned;
    }
    deferred_call(const deferred_call &) = delete;
    deferred_call &operator=(const deferred_call &) = delete;

    void schedule() noexcept {
        if (std::exchange(task_->now, task::state::wanted) == task::state::idle)
            task_->where.post(*task_);
    }
    void cancel() noexcept {
        if (task_->now == task::state::wanted)
            task_->now = task::state::queued;
    }

private:
    struct task final : loop_task {
        task(loop &io, std::function<void()> what) : where(io), function(std::move(what)) {}
        void run() noexcept override {
            // Still counts as queued during the call, so that an owner that ends in it leaves this
            // object to us.
            if (now == state::wanted) {
                now = state::queued;
                function();
            }
            if (now == state::orphaned)
                delete this;
            else if (now == state::wanted)
                where.post(*this);
            else
                now = state::idle;
        }
        enum class state : std::uint8_t {
            idle,
            queued,   // and not wanted any more
            wanted,   // and queued
            orphaned  // and queued: its owner has gone
        };
        loop &where;
        std::function<void()> function;
        state now = state::idle;
    };

    task *task_;
};

}  // namespace zlink
