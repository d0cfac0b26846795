// A loop in virtual time: everything happens on the thread of the test, and time passes when the
// test says so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "reactor/loop.hpp"
#include "short_heap.hpp"

namespace zlink::test {

class virtual_loop final : public loop {
public:
    void post(loop_task &task) noexcept override { add(tasks_, task); }
    error post(std::function<void()> work) noexcept override {
        if (std::exchange(refuses_functions, false))
            return error::no_memory;
        short_heap::uncounted([&] { functions_.push_back(std::move(work)); });
        return error::none;
    }
    error post_and_wait(const std::function<void()> &work) noexcept override {
        run();
        work();
        return error::none;
    }
    void run_before_sleep(loop_task &task) noexcept override { add(before_sleep_, task); }
    std::unique_ptr<timer> make_timer(std::function<void()> on_expiry) noexcept override {
        try {
            return makes_timers ? std::make_unique<virtual_timer>(*this, std::move(on_expiry)) : nullptr;
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }
    time_point now() const noexcept override { return time; }

    /// Until it would sleep.
    void run() {
        for (;;) {
            if (!functions_.empty())
                take_first(functions_)();
            else if (!tasks_.empty())
                take_first(tasks_)->run();
            else if (!before_sleep_.empty())
                take_first(before_sleep_)->run();
            else if (!costly.is_empty())
                costly.run_one();
            else
                return;
        }
    }
    /// Timers that are due meanwhile go off, each in its moment; those of one moment in the order
    /// they were set in.
    void pass(duration how_long) {
        const time_point end = time + how_long;
        for (run();; run()) {
            virtual_timer *const next = first_to_go_off();
            if (!next || next->at > end)
                break;
            time = std::max(time, next->at);
            go_off(*next);
        }
        time = end;
    }
    /// All timers that are set go off.
    void pass_time() {
        for (virtual_timer *each : std::vector(timers_))
            if (std::find(timers_.begin(), timers_.end(), each) != timers_.end() && each->is_set)
                go_off(*each);
        run();
    }
    /// Says how many timers are set.
    std::size_t pending() const {
        return static_cast<std::size_t>(
            std::count_if(timers_.begin(), timers_.end(), [](auto *each) { return each->is_set; }));
    }

    time_point time{std::chrono::hours(1)};
    bool makes_timers = true;
    bool refuses_functions = false;  // the next one

private:
    struct virtual_timer final : timer {
        virtual_timer(virtual_loop &where, std::function<void()> what)
            : io(where), handler(std::make_shared<const std::function<void()>>(std::move(what))) {
            io.timers_.push_back(this);
        }
        ~virtual_timer() override { std::erase(io.timers_, this); }
        void expires_at(time_point when) noexcept override {
            at = when;
            turn = ++io.times_set_;
            is_set = true;
        }
        void cancel() noexcept override { is_set = false; }
        bool is_pending() const noexcept override { return is_set; }

        virtual_loop &io;
        const std::shared_ptr<const std::function<void()>> handler;
        time_point at{};
        std::uint64_t turn = 0;
        bool is_set = false;
    };

    template <class T>
    static T take_first(std::deque<T> &from) {
        T first = std::move(from.front());
        from.pop_front();
        return first;
    }
    static void add(std::deque<loop_task *> &to, loop_task &task) noexcept {
        if (std::find(to.begin(), to.end(), &task) == to.end())
            short_heap::uncounted([&] { to.push_back(&task); });
    }
    static void go_off(virtual_timer &which) {
        which.is_set = false;
        const auto handler = which.handler;  // it may destroy the timer
        (*handler)();
    }
    virtual_timer *first_to_go_off() const {
        virtual_timer *first = nullptr;
        for (virtual_timer *each : timers_)
            if (each->is_set &&
                (!first || std::pair(each->at, each->turn) < std::pair(first->at, first->turn)))
                first = each;
        return first;
    }

    std::deque<std::function<void()>> functions_;
    std::deque<loop_task *> tasks_, before_sleep_;
    std::vector<virtual_timer *> timers_;
    std::uint64_t times_set_ = 0;
};

}  // namespace zlink::test
