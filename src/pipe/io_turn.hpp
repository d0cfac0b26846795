// The I/O of a connection on the thread of a socket: the contract between the two ends of a pipe.
//
// Writing:  whoever holds the write turn may take what was published and write it: the I/O thread, or the thread that
//           published it. The turn is a try-lock. A thread that is refused may leave a request, and the holder sees it when it gives back. Nobody
//           waits for it: the end of a connection claims it, and the holder leaves it to that end.
// Reading:  a read lease is for longer. A caller that is about to sleep asks for it; the I/O thread then takes its hands off
//           the stream until the lease ends. The caller waits for the descriptor itself and reads. It uses the lease from
//           looking at the descriptor until it leaves; in between the I/O thread may call the lease back at any time, and
//           does so when it is not used for a while.
// Threads:  a turn from any thread, what it guards by its holder; each side of a lease on one thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/block.hpp"
#include "core/waiter.hpp"

namespace zlink {

class writing;  // a write turn that is held, see pipe.hpp

class write_turn {
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
    /// For the end of a connection only. False while there is a holder, whose give() then says so, and leaves the turn to who claims
    /// it again: all others are refused.
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
    /// Returns whether somebody was refused meanwhile. The next holder, and a thread that was refused, see all that a holder did.
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
    std::atomic<std::uint32_t> state_{is_free};
};

class read_lease {
public:
    // ---- the socket's thread ----

    /// True when the I/O thread has to be told.
    bool ask() noexcept {
        state expected = state::none;
        return state_.compare_exchange_strong(expected, state::wanted, std::memory_order_relaxed);
    }
    bool begin_use() noexcept {
        if (state_.load(std::memory_order_relaxed) != state::leased)
            return false;
        state expected = state::leased;
        return state_.compare_exchange_strong(expected, state::used, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    /// While it is in use: that it is of use, which keeps it from ending.
    void note_use() noexcept {
        uses_.store(uses_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// A large body has come: the next use may be as long in coming as it takes to send one like it. The largest decides.
    void note_large(std::size_t octets) noexcept {
        const auto looks = static_cast<std::uint32_t>(std::min(octets / octets_each_look, most_more_looks));
        if (looks > more_looks_.load(std::memory_order_relaxed))
            more_looks_.store(looks, std::memory_order_relaxed);
    }
    /// Whether the I/O thread keeps its hands off the stream.
    bool is_out() const noexcept {
        const state now = state_.load(std::memory_order_seq_cst);
        return now == state::leased || now == state::used;
    }
    bool is_used() const noexcept {
        const state now = state_.load(std::memory_order_relaxed);
        return now == state::used || now == state::recalled;
    }
    /// Neither asked for nor leased.
    bool is_over() const noexcept { return state_.load(std::memory_order_relaxed) == state::none; }
    /// In use, and wanted back: the wake-up that said so may have been heard already.
    bool is_recalled() const noexcept { return state_.load(std::memory_order_relaxed) == state::recalled; }
    /// Keeps the lease for the next use if `keep` and the I/O thread does not want it back. True when the I/O thread has to
    /// be told: it ended, or nobody looks after it.
    bool end_use(bool keep) noexcept {
        state expected = state::used;
        if (keep && state_.compare_exchange_strong(expected, state::leased, std::memory_order_seq_cst))
            return !is_watched_.load(std::memory_order_seq_cst);
        state_.store(state::none, std::memory_order_release);
        return true;
    }

    // ---- the I/O thread ----

    bool is_wanted() const noexcept { return state_.load(std::memory_order_relaxed) == state::wanted; }
    void grant() noexcept { state_.store(state::leased, std::memory_order_release); }
    void refuse() noexcept { state_.store(state::none, std::memory_order_relaxed); }
    bool owns_reading() const noexcept {
        const state now = state_.load(std::memory_order_acquire);
        return now == state::none || now == state::wanted;
    }
    /// True when the lease has ended; else it will when the use does, and somebody should wake the user.
    bool recall() noexcept {
        state now = state_.load(std::memory_order_acquire);
        for (;;) {
            if (now == state::none || now == state::wanted)
                return true;
            if (now == state::recalled)
                return false;
            const state next = now == state::leased ? state::none : state::recalled;
            if (state_.compare_exchange_weak(now, next, std::memory_order_acq_rel, std::memory_order_acquire))
                return next == state::none;
        }
    }
    /// The number of looks more than usual that the next use may be in coming, by the largest body that came since this was asked.
    std::uint32_t take_more_looks() noexcept { return more_looks_.exchange(0, std::memory_order_relaxed); }
    /// Counts the uses.
    std::uint32_t uses() const noexcept { return uses_.load(std::memory_order_relaxed); }
    void watch() noexcept { is_watched_.store(true, std::memory_order_seq_cst); }
    /// The user is to say when it leaves. False when it has left already.
    bool stop_watching() noexcept {
        is_watched_.store(false, std::memory_order_seq_cst);
        return state_.load(std::memory_order_seq_cst) != state::leased;
    }

private:
    enum class state : std::uint32_t { none, wanted, leased, used, recalled };
    static constexpr std::size_t octets_each_look = 4 * 1024 * 1024;
    static constexpr std::size_t most_more_looks = 8;

    std::atomic<state> state_{state::none};
    std::atomic<std::uint32_t> uses_{0};
    std::atomic<std::uint32_t> more_looks_{0};
    std::atomic<bool> is_watched_{false};
};

/// The services of a connection to the thread of a socket.
class io_turn {
public:
    virtual ~io_turn() = default;

    enum class written {
        all,   // nothing is left
        some,  // some is left, or something is to be done that only the I/O thread can do: wake it
        full,  // some is left, and the stream is full: who has the read lease waits for it, or else the I/O thread
        refused,  // the stream is full or of no use, or control octets go first: nobody is to be woken
        held,     // less than a piece is left for the next time
    };
    enum class occasion {
        any,
        stream,  // more comes soon, or else the I/O thread: what goes out should fill pieces
        ready,   // the stream was seen to take more, or may do so by now: it is tried though it was full
    };
    /// Writes what is published, without blocking.
    virtual written write_now(writing &turn, occasion when) noexcept = 0;
    /// Copies what is left of a body that was taken from where its sender has it. Called by the holder of the turn.
    virtual void copy_rest() noexcept {}
    /// Whether the stream is full, and has to be waited for before it takes more. Any thread.
    virtual bool is_full() const noexcept = 0;
    /// Whether the last write was refused: the stream was full, or another thread was at it. Any thread.
    virtual bool is_held_up() const noexcept { return is_full(); }
    /// Whether a full stream takes more once there is input, and room is of no use before. Any thread.
    virtual bool awaits_input() const noexcept { return false; }

    // With the read lease in use:

    /// The descriptor to wait for, the same as long as this object lives.
    virtual int descriptor() const noexcept = 0;
    std::uint64_t opening() const noexcept { return opening_; }
    /// Whether read_now() is likely to find something without waiting for the descriptor.
    virtual bool expects_more() const noexcept = 0;
    /// Whether a large frame, or the rest of one, is likely to come next.
    virtual bool expects_large() const noexcept = 0;
    /// Whether the sender of the large frames runs on this thread's processor, as far as is known: a look keeps it from sending.
    virtual bool shares_processor() const noexcept { return false; }
    /// Reads once without blocking and publishes what came. False when the I/O thread has to go on: end the lease.
    virtual bool read_now(block_ref &scratch) noexcept = 0;
    /// Whether the last read_now() found octets, in the stream or kept back.
    virtual bool has_read() const noexcept { return false; }

    /// The body of the next message may be read straight into this memory, if it has one frame that fits, until withdraw_offer().
    virtual void offer(std::span<std::uint8_t> to) noexcept { (void)to; }
    /// Whether part of a body stands there.
    virtual bool fills_offer() const noexcept { return false; }
    enum class offer_end {
        unused,  // or part of a body stood there, and is elsewhere now
        filled,  // the body of a message that was published stands there
        failed,  // as false of read_now()
    };
    virtual offer_end withdraw_offer() noexcept { return offer_end::unused; }

private:
    const std::uint64_t opening_ = new_opening();
};

}  // namespace zlink
