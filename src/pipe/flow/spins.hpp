// The spins of a socket's thread: when it looks again and again for what another running thread is
// about to do, and for how long.
//
// Layout:   a row for each spin with its limit and the reason for that; which spin is due, told the
//           facts; how far a sender may be ahead of its peer before it waits. All of it is pure.
//           `spins` keeps the patience of one socket: what was in vain is skipped more and more
//           often.
// Threads:  the socket's.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/patience.hpp"

namespace zlink {

enum class spin : std::uint8_t { none, first_read, answer, rest, room, peer, lag, body_end };

struct spin_limit {
    spin which;
    std::size_t looks;  // 0: see below
    std::size_t looks_per_time =
        16;  // once in so many the spin is judged by the time; 1: a look may move many octets
};

/// In the order of the names.
inline constexpr spin_limit spin_limits[] = {
    {spin::none, 0},
    // A thread that did not have to wait last time need not ask whether it has to this time: it
    // reads, and saves the wait.
    {spin::first_read, 1},
    // For `longest_look_for_answer` at most. Being woken costs both sides several times what a look
    // costs; but a look disturbs the sender, and so there is a pause before each.
    {spin::answer, 12},
    // Each is a read in vain, of half a microsecond. Together: the time in which the next octets of
    // a large frame arrives, which would wake a sleeper each time.
    {spin::rest, 100, 1},
    // Each is a write in vain, of half a microsecond. Together: the time in which a reader takes
    // what an ipc stream holds. A full stream takes more as soon as its reader has taken something,
    // but wakes a sleeper only when it is three quarters empty.
    {spin::room, 200, 1},
    // A look at memory, and as long a pause. Together: the time in which a peer in the same process
    // takes or writes half a mark of small messages. While both sides are at work neither should
    // sleep: to be woken takes longer than that.
    {spin::peer, 1000},
    // looks_for_lag() says how many: a look takes about as long as so many octets take to be moved.
    {spin::lag, 0},
    // For `longest_look_for_body_end`: to wake the I/O thread for the rest takes about as long.
    {spin::body_end, 0},
};
inline constexpr std::chrono::microseconds longest_look_for_body_end{100};
/// To sleep and to be woken takes as long: to look for longer costs more than to sleep at
/// once.
inline constexpr std::chrono::microseconds longest_look_for_answer{30};

constexpr const spin_limit &limit_of(spin which) noexcept {
    return spin_limits[static_cast<std::size_t>(which)];
}

/// Whether the `look`th look for an answer, from 1, is due after so long. The time decides where it
/// can, since a moment takes one processor five times as long as another.
constexpr bool looks_for_answer(unsigned look, std::chrono::nanoseconds after) noexcept {
    return look <= limit_of(spin::answer).looks && after < longest_look_for_answer;
}

/// Moments to leave out before the `look`th look for an answer: some microseconds, or one, and
/// twice as many after each third look.
constexpr unsigned pauses_before_look(unsigned look) noexcept { return 128u << ((look - 1) / 3); }

// ---- Which spin is due --------------------------------------------------------------------------

/// Whether to read once before anything else. `now` answers leases(), wants_input() (and nothing
/// else), had_short_wait().
template <class Facts>
[[gnu::always_inline]] inline bool reads_first(const Facts &now) noexcept {
    return now.leases() == 1 && now.wants_input() && now.had_short_wait();
}

/// The spin of a thread that is about to sleep, with `leases` in use. `now` answers what it is
/// asked for, in this order.
template <class Facts>
[[gnu::always_inline]] inline spin due_spin(const Facts &now) noexcept {
    if (now.leases() == 0) {
        if (!now.is_alone() || now.pipes() != 1 || !now.is_inproc() ||
            (!now.wants_input() && !now.wants_room()))
            return spin::none;
        // While commands wait, the pattern may keep a frame of the pipe's that it had no memory
        // for: a look would end its life. And what is waited for must be what is missing: a REQ may
        // have room, and await its reply.
        return !now.has_commands() && !now.is_there() && now.may_spin() ? spin::peer : spin::none;
    }
    if (now.leases() != 1 || !now.may_spin())
        return spin::none;
    if (now.wants_room())
        return now.pipes() == 1 && !now.is_there() ? spin::room : spin::none;
    if (!now.wants_input())
        return spin::none;
    if (now.expects_large())
        return spin::rest;
    return now.is_alone() && now.pipes() == 1 && now.was_woken_for_little() ? spin::answer : spin::none;
}

// ---- How far a sender may be ahead --------------------------------------------------------------

/// A body of `size` octets is sent. Large ones are counted apart.
struct backlog_kind {
    std::size_t size;
    bool is_large;
    bool is_inproc;
};

/// Octets at which a peer lags. Bodies that one processor copies into memory, and another one out
/// of it, are several times slower to move once more of them are under way than caches hold, and
/// slower still in memory that nobody has used before.
constexpr std::uint64_t most_octets_ahead(const backlog_kind &of) noexcept {
    constexpr std::uint64_t mebibyte = 1024 * 1024;
    if (of.is_large)
        return mebibyte + 1024;  // with headers
    return of.is_inproc ? 16 * mebibyte : 4 * mebibyte;
}

/// The backlog that a sender waits for when it was further `ahead` than that. From far ahead it
/// comes nearer step by step.
inline constexpr std::size_t most_octets_nearer = 1024 * 1024;
constexpr std::uint64_t near_enough(std::uint64_t ahead, const backlog_kind &of) noexcept {
    return ahead - std::min<std::uint64_t>(ahead - most_octets_ahead(of),
                                           of.is_large ? 2 * of.size : most_octets_nearer);
}

constexpr std::size_t looks_for_lag(const backlog_kind &of) noexcept {
    constexpr std::size_t octets_per_look = 32;
    return (of.is_large ? std::min(of.size, most_octets_nearer) : most_octets_nearer) / octets_per_look;
}

/// The time that a thread sleeps for a peer that lags.
inline constexpr std::chrono::milliseconds longest_lag_sleep{1};

// ---- The patience for them ----------------------------------------------------------------------

class spins {
public:
    spins(const clock_source &clock, waiter &how) noexcept : clock_(clock), how_(how) {}

    /// Does patience::look_for() within the limit of the spin.
    template <class Look>
    bool look_for(spin which, Look &&look) noexcept {
        return look_for(which, limit_of(which).looks, look);
    }
    template <class Look>
    bool look_for(spin which, std::size_t looks, Look &&look) noexcept {
        return patience_for(which).look_for(looks, look, rest(), clock_, limit_of(which).looks_per_time);
    }
    bool take_skip(spin which) noexcept { return patience_for(which).take_skip(); }
    spin_rest &rest() const noexcept { return how_.this_thread().rest; }
    void note(spin which, bool was_found) noexcept {
        using enum patience::makes_up;
        // The rest of a burst is found now and then by a reader that looks in vain after each.
        patience_for(which).note(was_found, which == spin::answer ? for_one : for_all);
    }

private:
    /// For an answer and for a peer it is one: a socket looks for what its one peer does.
    patience &patience_for(spin which) noexcept {
        return patiences_[static_cast<std::size_t>(which == spin::answer ? spin::peer : which)];
    }

    const clock_source &clock_;
    waiter &how_;
    std::array<patience, std::size(spin_limits)> patiences_;
};

}  // namespace zlink
