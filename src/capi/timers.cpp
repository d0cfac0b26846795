// zmq_timers_*: a set of repeating timers that the application runs itself.
//
// Threads:  one thread at a time per set. A handler may add, cancel, reset and change timers of its
//           own set.
// Map:      the set; the functions of zmq.h.
#include <algorithm>
#include <optional>
#include <vector>

#include "capi/boundary.hpp"
#include "core/platform.hpp"
#include "zmq.h"

namespace {

using namespace zlink;
using namespace zlink::capi;
using std::chrono::milliseconds;

/// Some centuries short of where the clock's arithmetic would overflow.
constexpr std::size_t longest_interval_ms = std::size_t{100} * 365 * 24 * 3600 * 1000;

class timer_set {
public:
    explicit timer_set(const clock_source &clock) noexcept : clock_(clock) {}
    ~timer_set() { mark_ = 0; }
    timer_set(const timer_set &) = delete;
    timer_set &operator=(const timer_set &) = delete;

    bool is_live() const noexcept { return mark_ == live_mark; }

    int add(std::size_t interval_ms, zmq_timer_fn *handler, void *arg) {
        const milliseconds interval = clip(interval_ms);
        timers_.push_back({++last_id_, interval, clock_.now() + interval, handler, arg});
        return last_id_;
    }
    error cancel(int id) noexcept {
        return std::erase_if(timers_, [id](const timer &t) { return t.id == id; }) ? error::none
                                                                                   : error::invalid;
    }
    error set_interval(int id, std::size_t interval_ms) noexcept {
        timer *t = find(id);
        if (!t)
            return error::invalid;
        t->interval = clip(interval_ms);
        t->due = clock_.now() + t->interval;
        return error::none;
    }
    error reset(int id) noexcept {
        timer *t = find(id);
        if (!t)
            return error::invalid;
        t->due = clock_.now() + t->interval;
        return error::none;
    }
    /// Milliseconds until the first timer is due, rounded up so that it is due after a sleep of
    /// that length.
    std::optional<long> time_left() const noexcept {
        if (timers_.empty())
            return std::nullopt;
        const auto first = std::ranges::min_element(timers_, {}, &timer::due);
        const auto left = std::chrono::ceil<milliseconds>(first->due - clock_.now()).count();
        return std::max<long>(left, 0);
    }
    /// Each timer that is due at the start runs once, in order of time, unless a handler before it
    /// puts it off.
    void execute() {
        const time_point now = clock_.now();
        std::vector<std::pair<time_point, int>> due;
        for (const timer &t : timers_)
            if (t.due <= now)
                due.emplace_back(t.due, t.id);
        std::ranges::sort(due);
        for (const auto &[when, id] : due) {
            timer *t = find(id);
            if (!t || t->due != when)
                continue;
            t->due = now + t->interval;
            const timer ran = *t;  // the handler may change the set
            ran.handler(ran.id, ran.arg);
        }
    }

private:
    struct timer {
        int id;
        milliseconds interval;
        time_point due;
        zmq_timer_fn *handler;
        void *arg;
    };

    static milliseconds clip(std::size_t ms) noexcept {
        return milliseconds(std::min(ms, longest_interval_ms));
    }

    timer *find(int id) noexcept {
        const auto it = std::ranges::find(timers_, id, &timer::id);
        return it == timers_.end() ? nullptr : &*it;
    }

    static constexpr std::uint32_t live_mark = 0x54696d65;
    std::uint32_t mark_ = live_mark;
    int last_id_ = 0;
    const clock_source &clock_;
    std::vector<timer> timers_;
};

/// The set behind a handle; null when it is none.
timer_set *as_set(void *timers) noexcept {
    auto *set = static_cast<timer_set *>(timers);
    return set && set->is_live() ? set : nullptr;
}

}  // namespace

void *zmq_timers_new(void) {
    auto *set = new (std::nothrow) timer_set(platform::steady_clock());
    return set ? set : fail<void *>(error::no_memory);
}

int zmq_timers_destroy(void **timers_p) {
    timer_set *set = timers_p ? as_set(*timers_p) : nullptr;
    if (!set)
        return fail(error::fault);
    delete set;
    *timers_p = nullptr;
    return 0;
}

int zmq_timers_add(void *timers, size_t interval, zmq_timer_fn *handler, void *arg) {
    timer_set *set = as_set(timers);
    if (!set || !handler)
        return fail(error::fault);
    return guarded([&] { return set->add(interval, handler, arg); });
}

int zmq_timers_cancel(void *timers, int timer_id) {
    timer_set *set = as_set(timers);
    return answer(set ? set->cancel(timer_id) : error::fault);
}

int zmq_timers_set_interval(void *timers, int timer_id, size_t interval) {
    timer_set *set = as_set(timers);
    return answer(set ? set->set_interval(timer_id, interval) : error::fault);
}

int zmq_timers_reset(void *timers, int timer_id) {
    timer_set *set = as_set(timers);
    return answer(set ? set->reset(timer_id) : error::fault);
}

long zmq_timers_timeout(void *timers) {
    timer_set *set = as_set(timers);
    return set ? set->time_left().value_or(-1) : fail<long>(error::fault);
}

int zmq_timers_execute(void *timers) {
    timer_set *set = as_set(timers);
    if (!set)
        return fail(error::fault);
    return guarded([&] {
        set->execute();
        return 0;
    });
}
