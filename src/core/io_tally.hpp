// The deeds of an I/O thread, counted where it does them.
//
// Threads:  the I/O thread adds; any looks. Calls of other threads, which read and write for
//           themselves, are not counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/raise_to.hpp"
#include "core/waiter.hpp"

namespace zlink {

class tally {
public:
    void add(std::uint64_t more = 1) noexcept { count_.store(look() + more, std::memory_order_relaxed); }
    std::uint64_t look() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
};

/// A time that never falls, whoever tells of it, and whenever.
class rising_time {
public:
    /// The longest that anybody has told of, `seen` too.
    duration raise(duration seen) noexcept { return duration(raise_to(longest_, seen.count())); }

private:
    std::atomic<duration::rep> longest_{0};
};

struct io_tally {
    tally wakeups;  // sleeps that have ended
    tally polls;    // looks at what is ready, with or without a sleep
    tally reads;
    tally writes;

    static inline constinit thread_local io_tally *of_this_thread = nullptr;
    static void count(tally io_tally::*which) noexcept {
        if (io_tally *const mine = of_this_thread)
            (mine->*which).add();
    }
};

/// A look at these numbers.
struct io_thread_numbers {
    std::uint64_t wakeups = 0;
    std::uint64_t polls = 0;  // system calls that look at what is ready
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    duration busy{};  // processor time

    io_thread_numbers &operator+=(const io_thread_numbers &more) noexcept {
        wakeups += more.wakeups;
        polls += more.polls;
        reads += more.reads;
        writes += more.writes;
        busy += more.busy;
        return *this;
    }
};

}  // namespace zlink
