// Runs a few threads of a few steps in every order that the C++ memory model allows, with every
// value that a load may see.
//
// explore() runs a program again and again, with other choices each time, until none is left. The
// program makes its objects of `order::atomic` and `order::plain`, and says what each thread does.
//
// Model:    every location has its stores in modification order, each with a time. A thread has a
//           view: for each location the time of the earliest store that it may still read. A store
//           that releases carries its thread's view, and a load that acquires takes it over. A
//           store may be put behind any that its thread has seen, but not between a
//           read-modify-write and the store that it read. Fences of seq_cst hand their views from
//           one to the next; accesses of seq_cst do so for their own location, and a fence sees
//           those before it, and is seen by those behind. barrier_of_all() is such a fence in each
//           thread at once, as membarrier(2).
// Plain:    an object that is not atomic may be read by a thread that has seen all its writes, and
//           written by one that has seen all its reads, too; all else is a race, and fails.
// Limits:   a load is never put behind a store that follows it in its thread (load buffering). A
//           run of too many steps is a loop that waits for another thread; it is left, and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/fiber.hpp"

namespace zlink::order {

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

/// Times of stores, by location.
using view = std::vector<double>;

class world {
public:
    /// The run under way.
    static world &current();

    std::size_t make_location(std::uint64_t value);
    std::uint64_t load(std::size_t at, std::memory_order order);
    void store(std::size_t at, std::uint64_t value, std::memory_order order);
    /// Reads a store, and puts the changed value right behind it.
    std::uint64_t change(std::size_t at, const std::function<std::uint64_t(std::uint64_t)> &to,
                         std::memory_order order);
    bool compare_exchange(std::size_t at, std::uint64_t &expected, std::uint64_t wanted,
                          std::memory_order success, std::memory_order failure);
    void full_fence();
    void barrier_of_all();
    std::size_t make_plain();
    void read_plain(std::size_t at);
    void write_plain(std::size_t at);
    void expect(bool holds, const char *what);
    const std::string &failure() const noexcept { return failure_; }

private:
    friend struct explorer;

    struct stored {
        double time;
        std::uint64_t value;
        view carried;
        bool is_change;  // nothing may be put in front of it
    };
    struct thread {
        std::unique_ptr<sim::fiber> runs;
        view now;
        view acquired;  // by relaxed loads: counts from the next fence on
        view released;  // by the last fence: what relaxed stores carry
    };
    static constexpr std::size_t most_threads = 3;

    bool is_over() const noexcept;
    std::size_t choose(std::size_t count);
    void step();
    thread &self() { return threads_.at(running_); }
    static void join(view &into, const view &other);
    void fence_of(thread &of);
    void take(const stored &what, std::size_t at, std::memory_order order);
    void put(std::size_t at, std::size_t index, std::uint64_t value, std::memory_order order,
             const stored *changed);
    bool has_seen_all(std::size_t at);
    void note_use(std::size_t at);
    std::size_t first_visible(std::size_t at, std::memory_order order);

    std::vector<std::vector<stored>> places_;
    view last_sc_;                       // store or load of seq_cst, of each location
    std::vector<std::size_t> of_plain_;  // locations
    view all_fences_;                    // what the last fence of seq_cst has seen
    std::vector<thread> threads_;
    std::size_t running_ = 0;
    bool has_begun_ = false;
    std::size_t steps_ = 0;
    std::string failure_;
    struct explorer *chooses_ = nullptr;
};

struct outcome {
    std::uint64_t runs = 0;
    std::uint64_t left = 0;  // of these, for too many steps
    std::string failure;     // of the first run that failed; empty where there was none
};

/// Holds what the threads do in one run. `at_end` looks at the result once all are done.
struct program {
    std::vector<std::function<void()>> threads;
    std::function<void()> at_end = [] {};
};

/// Runs what `make` gives, made anew for each run, until every run was made or one has failed.
outcome explore(const std::function<program()> &make);

inline void expect(bool holds, const char *what) { world::current().expect(holds, what); }
inline void full_fence() { world::current().full_fence(); }
inline void barrier_of_all() { world::current().barrier_of_all(); }

/// This is as std::atomic, of what fits into 64 bits.
template <class T>
class atomic {
public:
    atomic(T value = {}) : at_(world::current().make_location(static_cast<std::uint64_t>(value))) {}
    atomic(const atomic &) = delete;
    T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
        return static_cast<T>(world::current().load(at_, order));
    }
    void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
        world::current().store(at_, static_cast<std::uint64_t>(value), order);
    }
    T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
        return static_cast<T>(world::current().change(
            at_, [&](std::uint64_t) { return static_cast<std::uint64_t>(value); }, order));
    }
    T fetch_add(T more, std::memory_order order = std::memory_order_seq_cst) noexcept {
        return static_cast<T>(world::current().change(
            at_, [&](std::uint64_t now) { return now + static_cast<std::uint64_t>(more); }, order));
    }
    bool compare_exchange_strong(T &expected, T wanted, std::memory_order success,
                                 std::memory_order failure) noexcept {
        auto known = static_cast<std::uint64_t>(expected);
        const bool done = world::current().compare_exchange(at_, known, static_cast<std::uint64_t>(wanted),
                                                            success, failure);
        expected = static_cast<T>(known);
        return done;
    }
    bool compare_exchange_strong(T &expected, T wanted, std::memory_order order) noexcept {
        return compare_exchange_strong(expected, wanted, order,
                                       order == std::memory_order_acq_rel   ? std::memory_order_acquire
                                       : order == std::memory_order_release ? std::memory_order_relaxed
                                                                            : order);
    }
    template <class... Orders>
    bool compare_exchange_weak(T &expected, T wanted, Orders... orders) noexcept {
        return compare_exchange_strong(expected, wanted, orders...);
    }

private:
    const std::size_t at_;
};

/// With every order relaxed: what relies on one is broken.
template <class T>
class relaxed_atomic : public atomic<T> {
public:
    using atomic<T>::atomic;
    T load(std::memory_order = {}) const noexcept { return atomic<T>::load(std::memory_order_relaxed); }
    void store(T value, std::memory_order = {}) noexcept {
        atomic<T>::store(value, std::memory_order_relaxed);
    }
    T exchange(T value, std::memory_order = {}) noexcept {
        return atomic<T>::exchange(value, std::memory_order_relaxed);
    }
    template <class... Orders>
    bool compare_exchange_strong(T &expected, T wanted, Orders...) noexcept {
        return atomic<T>::compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
    }
    template <class... Orders>
    bool compare_exchange_weak(T &expected, T wanted, Orders...) noexcept {
        return atomic<T>::compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
    }
};

/// An object that is not atomic, and is to be used by one thread after the other.
template <class T>
class plain {
public:
    plain(T value = {}) : at_(world::current().make_plain()), value_(value) {}
    T get() const {
        world::current().read_plain(at_);
        return value_;
    }
    void set(T value) {
        world::current().write_plain(at_);
        value_ = value;
    }

private:
    const std::size_t at_;
    T value_;
};

}  // namespace zlink::order
