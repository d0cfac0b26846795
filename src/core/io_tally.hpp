// The deeds of an I/O thread, counted where it does them.
//
// Threads:  the I/O thread adds; any looks. Calls of other threads, which read and write for
//           themselves, are not counted.
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink {

class tally {
public:
    void add(std::uint64_t more = 1) noexcept { count_.store(look() + more, std::memory_order_relaxed); }
    std::uint64_t look() const noexcept { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> count_{0};
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

}  // namespace zlink
