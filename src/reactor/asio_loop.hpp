// A loop around a Boost.Asio io_context. Private to the layers reactor and transport: everybody
// else sees `loop`.
//
// Flow:     run() alternates between what Asio has ready and what was posted until there is
//           nothing; raises `asleep`, fences once, runs the tasks that asked to look again, looks
//           at the posted list once more, and only then blocks.
// Waking:   whoever posts to a sleeping loop lowers `asleep` and interrupts the wait: one system
//           call, no allocation, and only for the first to come.
// Threads:  post(), post_and_wait(), add_load(), remove_load(): any. The rest: the thread inside
//           run().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifndef BOOST_ASIO_SEPARATE_COMPILATION
#define BOOST_ASIO_SEPARATE_COMPILATION
#endif
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "core/io_tally.hpp"
#include "reactor/loop.hpp"
#include "reactor/name_lookup.hpp"
#include "reactor/neighbours.hpp"
#include "reactor/task_list.hpp"

namespace zlink {

/// Memory for one pending handler that Asio makes `Size` octets of, used again and again. A second
/// one at the same time goes to the heap, as does a larger one.
template <std::size_t Size>
class handler_slot {
public:
    void *take(std::size_t size) {
        if (is_taken_ || size > memory_.size())
            return ::operator new(size);
        is_taken_ = true;
        return memory_.data();
    }
    void give_back(void *p) noexcept {
        if (p == memory_.data())
            is_taken_ = false;
        else
            ::operator delete(p);
    }

private:
    alignas(void *) std::array<std::byte, Size> memory_;
    bool is_taken_ = false;
};

/// Gives the memory of a handler_slot to Asio.
template <class T, std::size_t Size>
struct slot_allocator {
    using value_type = T;
    template <class U>
    struct rebind {
        using other = slot_allocator<U, Size>;
    };

    explicit slot_allocator(handler_slot<Size> &where) noexcept : slot(&where) {}
    template <class U>
    slot_allocator(const slot_allocator<U, Size> &other) noexcept : slot(other.slot) {}
    T *allocate(std::size_t count) { return static_cast<T *>(slot->take(count * sizeof(T))); }
    void deallocate(T *p, std::size_t) noexcept { slot->give_back(p); }
    template <class U>
    bool operator==(const slot_allocator<U, Size> &other) const noexcept {
        return slot == other.slot;
    }

    handler_slot<Size> *slot;
};

class asio_loop final : public loop {
public:
    /// Throws boost::system::system_error when descriptors run out, std::bad_alloc when memory
    /// does.
    asio_loop();
    ~asio_loop() override;

    void post(loop_task &task) noexcept override;
    error post(std::function<void()> work) noexcept override;
    error post_and_wait(const std::function<void()> &work) noexcept override;
    void run_before_sleep(loop_task &task) noexcept override;
    std::unique_ptr<timer> make_timer(std::function<void()> on_expiry) noexcept override;
    time_point now() const noexcept override;

    /// Runs until quit(); what is posted before or meanwhile has run when it returns.
    void run() noexcept;
    /// Makes run() return. Any thread.
    void quit() noexcept { post(quit_task_); }
    /// Runs what was posted after the end of run(). Any thread, once run() has returned.
    void run_leftovers() noexcept;

    boost::asio::io_context &context() noexcept { return context_; }
    name_lookup &names() noexcept { return names_; }
    /// Every handler given to Asio calls this first: the loop is awake, nobody needs to wake it.
    void begin_handler() noexcept {
        if (asleep_.load(std::memory_order_relaxed))
            asleep_.store(false, std::memory_order_relaxed);
    }

    /// The deeds of its thread. Any thread.
    const io_tally &done() const noexcept { return done_; }
    /// The processor time of its thread. Any thread.
    duration busy() noexcept;

    void add_load() noexcept { load_.fetch_add(1, std::memory_order_relaxed); }
    void remove_load() noexcept { load_.fetch_sub(1, std::memory_order_relaxed); }
    std::uint32_t load() const noexcept { return load_.load(std::memory_order_relaxed); }

private:
    class heap_timer;
    struct alarm_handler;
    struct quit_task final : loop_task {
        explicit quit_task(asio_loop &owner) noexcept : self(owner) {}
        void run() noexcept override { self.is_quitting_ = true; }
        asio_loop &self;
    };
    using alarm_clock = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                          boost::asio::wait_traits<std::chrono::steady_clock>,
                                                          boost::asio::io_context::executor_type>;

    void run_until_nothing_is_left() noexcept;
    void sleep() noexcept;
    bool run_ready() noexcept;
    void run_due_timers() noexcept;
    bool set_alarm() noexcept;
    bool set_alarm(time_point at) noexcept;
    void insert(heap_timer &t) noexcept;
    void remove(heap_timer &t) noexcept;
    void put(heap_timer &t, std::size_t index) noexcept;
    void sift_up(std::size_t index) noexcept;
    void sift_down(std::size_t index) noexcept;

    // Shared, atomic
    std::atomic<bool> asleep_{false};
    static constexpr std::uint32_t end_awaits = 1u << 31;
    std::atomic<std::uint32_t> posting_{
        0};  // threads inside post(), and whether the destructor waits for them
    std::atomic<std::uint32_t> load_{0};
    task_list posted_;
    io_tally done_;
    std::atomic<int> clock_{-1};  // while it runs
    rising_time busy_;

    // Loop thread only
    sleep_list before_sleep_;
    neighbours neighbours_;
    bool is_quitting_ = false;
    quit_task quit_task_{*this};
    // a binary heap, the earliest in front; room for all that exist
    std::vector<heap_timer *> timers_;
    std::size_t timer_count_ = 0;          // that exist, pending or not
    heap_timer *running_timer_ = nullptr;  // whose function runs; null once that has ended it
    // of what Asio 1.81 makes of the handler
    static constexpr std::size_t alarm_size = 104;
    std::array<handler_slot<alarm_size>, 2> alarm_memory_;  // a cancelled wait and the one after it
    std::uint64_t alarm_generation_ = 0;
    static constexpr time_point no_alarm = time_point::max();
    static constexpr std::chrono::milliseconds pause_without_memory{10};
    time_point alarm_at_ = no_alarm;

    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    alarm_clock alarm_;
    name_lookup names_{*this};  // goes first: it posts
};

}  // namespace zlink
