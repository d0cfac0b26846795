// A call that its owner gets a little later from its loop. Prepared in advance: scheduling it
// cannot fail.
//
// Threads:  the loop's, except construction.
#pragma once

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
        task_->is_wanted = false;
        if (task_->is_queued)
            task_->is_orphan = true;
        else
            delete task_;
    }
    deferred_call(const deferred_call &) = delete;
    deferred_call &operator=(const deferred_call &) = delete;

    void schedule() noexcept {
        task_->is_wanted = true;
        if (!task_->is_queued)
            task_->queue();
    }
    void cancel() noexcept { task_->is_wanted = false; }

private:
    struct task final : loop_task {
        task(loop &io, std::function<void()> what) : where(io), function(std::move(what)) {}
        void queue() noexcept {
            is_queued = true;
            where.post(*this);
        }
        void run() noexcept override {
            // Still counts as queued during the call, so that an owner that ends in it leaves this
            // object to us.
            if (std::exchange(is_wanted, false))
                function();
            is_queued = false;
            if (is_orphan)
                delete this;
            else if (is_wanted)
                queue();
        }
        loop &where;
        std::function<void()> function;
        bool is_queued = false;
        bool is_wanted = false;
        bool is_orphan = false;
    };

    task *task_;
};

}  // namespace zlink
