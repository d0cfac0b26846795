// The try-lock of a connection's writing half: whoever holds it may write. See connection_port.hpp.
//
// Threads:  any. What it guards is the holder's: each holder sees all that those before it did.
// Checked:  in every order of its steps by tests/order/turn_test.cpp, which is why the atomics are
//           a parameter.
#pragma once

#include <atomic>
#include <cstdint>

namespace zlink {

template <template <class> class Atomic>
class basic_write_turn {
public:
    bool try_take() noexcept {
        std::uint32_t expected = is_free;
        return state_.compare_exchange_strong(expected, is_taken, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    /// Does try_take(), and leaves a request when it is refused.
    bool take_or_request() noexcept {
        std::uint32_t now = is_free;
        while (!state_.compare_exchange_weak(now, now == is_free ? is_taken : now | is_requested,
                                             std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        return now == is_free;
    }
    /// For the end of a connection only. False while there is a holder, whose give() then says so,
    /// and leaves the turn to who claims it again: all others are refused.
    bool claim() noexcept {
        std::uint32_t now = is_free;
        while (!state_.compare_exchange_weak(now, is_reserved_or_free(now) ? is_taken : now | is_claimed,
                                             std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        return is_reserved_or_free(now);
    }
    /// Whether somebody was refused, and the holder is to be told when it gives the turn back.
    bool is_wanted() const noexcept { return state_.load(std::memory_order_relaxed) & is_requested; }
    /// Whether somebody holds it just now.
    bool is_held() const noexcept { return state_.load(std::memory_order_relaxed) & is_taken; }
    /// For the holder: whether the end of the connection waits for it.
    bool is_claimed_by_end() const noexcept { return state_.load(std::memory_order_relaxed) & is_claimed; }
    /// Returns whether somebody was refused meanwhile. The next holder, and a thread that was
    /// refused, see all that a holder did.
    bool give() noexcept {
        std::uint32_t now = is_taken;
        while (!state_.compare_exchange_weak(now, now & is_claimed ? is_reserved : is_free,
                                             std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        return now != is_taken;
    }

private:
    static constexpr std::uint32_t is_free = 0;
    static constexpr std::uint32_t is_taken = 1;
    static constexpr std::uint32_t is_requested = 2;
    static constexpr std::uint32_t is_claimed = 4;   // beside is_taken
    static constexpr std::uint32_t is_reserved = 8;  // instead of is_taken: to who claimed it
    static constexpr bool is_reserved_or_free(std::uint32_t now) noexcept {
        return now == is_free || now & is_reserved;
    }
    Atomic<std::uint32_t> state_{is_free};
};

using write_turn = basic_write_turn<std::atomic>;

}  // namespace zlink
