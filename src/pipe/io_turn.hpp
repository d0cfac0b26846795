// Writing from the thread that sends: the contract between a socket's end of a pipe and the connection at the other end.
//
// Flow:     a connection serves a pipe with an `io_turn`. Whoever holds the write turn of the pipe may take what was published
//           and write it: the I/O thread, or the thread that published it, through `io_turn::write_now()`.
// Turns:    a try-lock. A holder is never waited for but once: when a connection ends. Who is refused leaves a mark, and the
//           holder sees it when it gives the turn back.
// Threads:  the turn from any thread; everything it guards by its holder.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace zlink {

class write_turn {
public:
    bool try_take() noexcept {
        std::uint32_t expected = is_free;
        return state_.compare_exchange_strong(expected, is_taken, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    /// As try_take(); leaves a mark when it is refused.
    bool take_or_mark() noexcept {
        return state_.fetch_or(is_taken | is_marked, std::memory_order_acq_rel) == is_free;
    }
    /// For the end of a connection only: the holder writes once, without blocking.
    void wait_and_take() noexcept {
        while (!try_take())
            std::this_thread::yield();
    }
    /// Returns whether somebody was refused meanwhile. What a holder does is seen by the next, and by who left the mark.
    bool give() noexcept { return state_.exchange(is_free, std::memory_order_acq_rel) & is_marked; }

private:
    static constexpr std::uint32_t is_free = 0;
    static constexpr std::uint32_t is_taken = 1;
    static constexpr std::uint32_t is_marked = 2;
    std::atomic<std::uint32_t> state_{is_free};
};

/// What a connection does for the thread that sends. Called with the write turn held.
class io_turn {
public:
    enum class outcome {
        done,     // nothing is left
        left,     // some is left, or something is to be done that only the I/O thread can do: wake it
        refused,  // this is not the moment; the I/O thread knows what is to be done
    };
    virtual ~io_turn() = default;
    /// Writes what is published, without blocking.
    virtual outcome write_now() noexcept = 0;
};

}  // namespace zlink
