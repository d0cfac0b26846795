// The lease of a connection's reading half: the socket's thread reads while it is out. See
// connection_port.hpp.
//
// Threads:  each side on one.
// Checked:  in every order of its steps by tests/order/lease_test.cpp, which is why the atomics are
//           a parameter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "pipe/flow/lease_policy.hpp"

namespace zlink {

template <template <class> class Atomic>
class basic_read_lease {
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
    /// A large body has come: the next use may be long in coming. The largest decides.
    void note_large(std::size_t octets) noexcept {
        const std::uint32_t looks = lease_policy::more_looks_after(octets);
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
    /// Keeps the lease for the next use if `keep` and the I/O thread does not want it back. True
    /// when the I/O thread has to be told: it ended, or nobody looks after it.
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
    /// True when the lease has ended; else it will when the use does, and somebody should wake the
    /// user.
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
    /// The number of looks more than usual that the next use may be in coming, by the largest body
    /// that came since this was asked.
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

    Atomic<state> state_{state::none};
    Atomic<std::uint32_t> uses_{0};
    Atomic<std::uint32_t> more_looks_{0};
    Atomic<bool> is_watched_{false};
};

using read_lease = basic_read_lease<std::atomic>;

}  // namespace zlink
