// The room that a connection's stream is known to have for more, and who waits where there is none.
//
// Flow:     a write fills the stream: note_full(), and the wait for it is owed. The I/O thread
//           begins that wait, or leaves it to who has the lease; then note_writable(), or
//           try_again().
// Threads:  whoever holds the write turn; is_full() and is_held_up() any; what says so the I/O
//           thread's.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace zlink {

class stream_room {
public:
    /// Whether the stream has to be waited for before it takes more.
    bool is_full() const noexcept { return now() == state::none; }
    /// Whether the last write was refused, or stopped short.
    bool is_held_up() const noexcept { return now() != state::likely; }

    /// Whether another thread was at it.
    bool is_busy() const noexcept { return now() == state::not_now; }

    // ---- whoever writes ----

    void note_full() noexcept { state_ = state::none; }
    /// Another thread was at it.
    void note_busy() noexcept { state_ = state::not_now; }
    /// The I/O thread has not begun to wait for the stream that is full.
    void owe_wait() noexcept { owes_wait_ = true; }
    bool owes_wait() const noexcept { return owes_wait_; }
    /// It was seen to take more, or may do so by now.
    void try_again() noexcept {
        state_ = state::likely;
        owes_wait_ = false;
    }

    // ---- the I/O thread ----

    /// The stream takes more again. Needs no turn.
    void note_writable() noexcept { is_writable_again_ = is_full(); }
    /// The obstacle that held the last write up may be gone.
    void look() noexcept {
        if (is_held_up())
            hear();
    }
    /// Whether the wait is for who has the lease.
    bool is_left_to_others() const noexcept { return owes_wait_ && is_leased_; }
    /// Whether a wait was owed; then it is to be begun.
    bool take_wait() noexcept { return std::exchange(owes_wait_, false); }
    /// Others wait from here on, for a stream that is full already, too.
    void lease_out() noexcept {
        is_leased_ = true;
        hear();
        owes_wait_ = is_full();
    }
    /// Needs no turn.
    void end_lease() noexcept { is_leased_ = false; }
    bool is_leased() const noexcept { return is_leased_; }

private:
    enum class state : std::uint8_t {
        likely,
        not_now,  // another thread was at it
        none,
    };
    void hear() noexcept {
        if (std::exchange(is_writable_again_, false) || !is_full())
            state_ = state::likely;
    }
    state now() const noexcept { return state_.load(std::memory_order_relaxed); }

    std::atomic<state> state_{state::likely};  // written in turn
    // Not one state with that: the wait is owed by the I/O thread while others write, and the last
    // two are written by the I/O thread while another has the turn.
    bool owes_wait_ = false;
    bool is_leased_ = false;
    bool is_writable_again_ = false;
};

}  // namespace zlink
