// A loop around a Boost.Asio io_context; see asio_loop.hpp.
//
// Order:    posted work as tasks; a timer in the heap, and the one alarm that Asio knows; posting
//           from other threads; the loop: what is ready, what is left at its end, its sleep;
//           timers: those that are due, the alarm, the heap.
#include "reactor/asio_loop.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <mutex>

#include "core/fence.hpp"
#include "core/invariant.hpp"
#include "core/platform.hpp"
#include "memory/chunk.hpp"

namespace zlink {

namespace {

constexpr int handlers_per_round = 64;  // then posted tasks get their chance
// then those get it whose descriptor has become ready meanwhile
constexpr unsigned tasks_per_round = 16;

thread_local const asio_loop *this_threads_loop = nullptr;

struct function_task final : loop_task {
    explicit function_task(std::function<void()> what) : work(std::move(what)) {}
    void run() noexcept override {
        try {
            work();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "zlink: a task failed: %s\n", e.what());
        }
        delete this;
    }
    std::function<void()> work;
};

struct awaited_task final : loop_task {
    explicit awaited_task(const std::function<void()> &what) : work(what) {}
    void run() noexcept override {
        try {
            work();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "zlink: a task failed: %s\n", e.what());
        }
        // Under the lock to the end: the waiting caller owns this object.
        std::lock_guard lock(mutex);
        is_done = true;
        done.notify_one();
    }
    void wait() noexcept {
        const platform::cancellation_shield shield;  // the task is still looked at
        std::unique_lock lock(mutex);
        done.wait(lock, [this] { return is_done; });
    }
    const std::function<void()> &work;
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
};

}  // namespace

// One timer in the heap of its loop. The function is kept apart, because it may destroy the timer
// while it runs.
class asio_loop::heap_timer final : public timer {
public:
    static constexpr std::size_t not_in_heap = static_cast<std::size_t>(-1);

    heap_timer(asio_loop &owner, std::function<void()> on_expiry)
        : loop_(owner), function(std::move(on_expiry)) {
        if (loop_.timers_.capacity() <= loop_.timer_count_)
            loop_.timers_.reserve(2 * loop_.timer_count_ + 16);
        ++loop_.timer_count_;
    }
    ~heap_timer() override {
        cancel();
        --loop_.timer_count_;
        if (loop_.running_timer_ == this)
            loop_.running_timer_ = nullptr;
    }
    void expires_at(time_point at) noexcept override {
        cancel();
        when = at;
        loop_.insert(*this);
    }
    void cancel() noexcept override {
        if (is_pending())
            loop_.remove(*this);
    }
    bool is_pending() const noexcept override { return index != not_in_heap; }

private:
    asio_loop &loop_;

public:
    time_point when{};
    std::size_t index = not_in_heap;
    std::function<void()> function;  // empty while it runs
};

struct asio_loop::alarm_handler {
    using allocator_type = slot_allocator<void, alarm_size>;
    allocator_type get_allocator() const noexcept {
        return allocator_type(self->alarm_memory_[generation % self->alarm_memory_.size()]);
    }
    void operator()(const boost::system::error_code &) const noexcept {
        self->begin_handler();
        if (generation != self->alarm_generation_)
            return;  // replaced by an earlier alarm
        self->alarm_at_ = no_alarm;
        self->run_due_timers();
    }
    asio_loop *self;
    std::uint64_t generation;
};

asio_loop::asio_loop() : context_(1), work_(context_.get_executor()), alarm_(context_.get_executor()) {}

// The thread that posted the last task may still be on its way out of post(), and may need this
// processor to get there.
asio_loop::~asio_loop() {
    names_.close();
    std::uint32_t now = posting_.fetch_or(end_awaits, std::memory_order_acquire) | end_awaits;
    for (; now != end_awaits; now = posting_.load(std::memory_order_acquire))
        posting_.wait(now, std::memory_order_relaxed);
}

void asio_loop::post(loop_task &task) noexcept {
    // The loop's own thread looks at the list before it sleeps.
    if (this_threads_loop == this) {
        posted_.push(task);
        return;
    }
    posting_.fetch_add(1, std::memory_order_relaxed);
    posted_.push(task);
    full_fence();
    if (asleep_.load(std::memory_order_relaxed) && asleep_.exchange(false, std::memory_order_acq_rel)) {
        const platform::cancellation_shield shield;
        context_.stop();
    }
    if (posting_.fetch_sub(1, std::memory_order_release) == (end_awaits | 1))
        posting_.notify_one();  // an address, no more: the loop may be gone
}

error asio_loop::post(std::function<void()> work) noexcept {
    try {
        post(*new function_task(std::move(work)));
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

error asio_loop::post_and_wait(const std::function<void()> &work) noexcept {
    ZLINK_INVARIANT(this_threads_loop != this);
    awaited_task task(work);
    post(task);
    task.wait();
    return error::none;
}

void asio_loop::run_before_sleep(loop_task &task) noexcept { before_sleep_.push(task); }

time_point asio_loop::now() const noexcept { return std::chrono::steady_clock::now(); }

/// A look that goes beyond what the thread has told of itself at its end is remembered, so that the
/// next does not fall behind it. Where there is no clock any more that time is there already.
duration asio_loop::busy() noexcept {
    const int clock = clock_.load(std::memory_order_acquire);
    return busy_.raise(clock == -1 ? duration::zero() : platform::read_processor_clock(clock));
}

void asio_loop::run() noexcept {
    this_threads_loop = this;
    io_tally::of_this_thread = &done_;
    const int clock = platform::processor_clock_of_this_thread();
    clock_.store(clock, std::memory_order_release);
    for (;;) {
        run_until_nothing_is_left();
        if (is_quitting_)
            break;
        sleep();
    }
    // Tasks that asked to look before a sleep may be all that keeps an object alive.
    before_sleep_.run_all();
    run_until_nothing_is_left();
    (void)busy_.raise(platform::read_processor_clock(clock));
    clock_.store(-1, std::memory_order_release);
    io_tally::of_this_thread = nullptr;
    this_threads_loop = nullptr;
}

void asio_loop::run_leftovers() noexcept {
    names_.close();
    this_threads_loop = this;
    run_until_nothing_is_left();
    this_threads_loop = nullptr;
}

void asio_loop::run_until_nothing_is_left() noexcept {
    for (bool has_run = true; has_run;) {
        has_run = run_ready();
        has_run |= posted_.run_some(tasks_per_round);
        if (!costly.is_empty()) {
            costly.take_share(
                has_run, [this] { return now(); },
                [this] { return neighbours_.want_processor(now(), platform::use_of_processors); });
            has_run |= !costly.is_empty() && costly.rests_for() == duration::zero();
        }
    }
}

// Runs what Asio has ready, up to a limit.
bool asio_loop::run_ready() noexcept {
    try {
        context_.restart();  // a stop() was a wake-up, perhaps a late one
        int count = 0;
        while (count < handlers_per_round && context_.poll_one())
            ++count;
        // It looks at what is ready before the first handler, and behind the last of them.
        done_.polls.add(1 + (count > 0));
        // A late stop() makes poll_one() return 0 with handlers left.
        return count > 0 || context_.stopped();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "zlink: an I/O handler failed: %s\n", e.what());
        return true;
    }
}

void asio_loop::sleep() noexcept {
    if (chunk_pool::has_ageing())
        chunk_pool::age_idle(now());
    asleep_.store(true, std::memory_order_relaxed);
    heavy_fence();
    before_sleep_.run_all();
    if (posted_.is_empty() && before_sleep_.is_empty()) {
        try {
            if (set_alarm() && (costly.is_empty() || set_alarm(costly.rests_until())))
                context_.run_one();
            else
                context_.run_one_for(pause_without_memory);
            done_.polls.add();
            done_.wakeups.add();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "zlink: an I/O handler failed: %s\n", e.what());
        }
    }
    asleep_.store(false, std::memory_order_relaxed);
}

std::unique_ptr<timer> asio_loop::make_timer(std::function<void()> on_expiry) noexcept {
    try {
        return std::make_unique<heap_timer>(*this, std::move(on_expiry));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void asio_loop::run_due_timers() noexcept {
    const time_point due = now();
    // No more than there are now: a function that restarts its timer at once must not hold the
    // loop.
    for (std::size_t left = timers_.size(); left && !timers_.empty() && timers_.front()->when <= due;
         --left) {
        heap_timer &t = *timers_.front();
        remove(t);
        // It may end the timer.
        running_timer_ = &t;
        std::function<void()> function = std::move(t.function);
        try {
            function();
        } catch (const std::exception &e) {
            std::fprintf(stderr, "zlink: a timer failed: %s\n", e.what());
        }
        if (running_timer_)
            t.function = std::move(function);
        running_timer_ = nullptr;
    }
    (void)set_alarm();
}

/// For the timers. What fails is tried again before the next sleep.
bool asio_loop::set_alarm() noexcept { return timers_.empty() || set_alarm(timers_.front()->when); }

/// False where there is no memory. The alarm may go off too early, after a timer was cancelled or
/// put off; it is moved only to an earlier time. So a loop that sleeps many times until the same
/// moment has the system set one timer, where a limit for each sleep would be one each time.
bool asio_loop::set_alarm(time_point at) noexcept {
    if (alarm_at_ <= at)
        return true;
    alarm_at_ = at;
    ++alarm_generation_;
    try {
        alarm_.expires_at(alarm_at_);
        alarm_.async_wait(alarm_handler{this, alarm_generation_});
        return true;
    } catch (const std::exception &) {
        alarm_at_ = no_alarm;
        return false;
    }
}

void asio_loop::insert(heap_timer &t) noexcept {
    timers_.push_back(&t);  // has room: see the timer's constructor
    put(t, timers_.size() - 1);
    sift_up(t.index);
    (void)set_alarm();
}

void asio_loop::remove(heap_timer &t) noexcept {
    const std::size_t index = t.index;
    heap_timer *last = timers_.back();
    timers_.pop_back();
    t.index = heap_timer::not_in_heap;
    if (last != &t) {
        put(*last, index);
        sift_up(index);
        sift_down(last->index);
    }
}

void asio_loop::put(heap_timer &t, std::size_t index) noexcept {
    timers_[index] = &t;
    t.index = index;
}

void asio_loop::sift_up(std::size_t index) noexcept {
    while (index > 0) {
        const std::size_t parent = (index - 1) / 2;
        heap_timer *above = timers_[parent];
        heap_timer *here = timers_[index];
        if (above->when <= here->when)
            return;
        put(*here, parent);
        put(*above, index);
        index = parent;
    }
}

void asio_loop::sift_down(std::size_t index) noexcept {
    for (;;) {
        std::size_t child = 2 * index + 1;
        if (child >= timers_.size())
            return;
        if (child + 1 < timers_.size() && timers_[child + 1]->when < timers_[child]->when)
            ++child;
        heap_timer *below = timers_[child];
        heap_timer *here = timers_[index];
        if (here->when <= below->when)
            return;
        put(*below, index);
        put(*here, child);
        index = child;
    }
}

}  // namespace zlink
