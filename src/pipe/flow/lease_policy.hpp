// Says whose thread reads a connection: when the thread of a socket asks for the lease, when it
// gives it back, and when the I/O thread ends it.
//
// Layout:   how a thread works and waits by turns, and whether it asks; whether it comes too late
//           for what it reads; how it is woken; which of many connections it asks for; when the I/O
//           thread ends a lease. All of it is pure: it is told the time and the facts. What is
//           known of the past is in the small classes here: those of a thread belong to the
//           borrower, those of a lease to the lease_keeper and the pipe.
// Threads:  the socket's; the looks of the I/O thread are the loop's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/waiter.hpp"

namespace zlink::lease_policy {

// ---- Whether a thread asks ----------------------------------------------------------------------

/// Between the waits of an eager thread. One that works for longer has its I/O thread read ahead
/// (decision 0007).
inline constexpr duration longest_work = std::chrono::milliseconds(1);
/// Waits of an eager thread in a row: one alone may be by chance (0007).
inline constexpr int eager_after = 4;
/// Waits until it asks again, where it was refused, or others are there by now (0007).
inline constexpr int asks_again_after = 16;

/// The work and the waits of a thread, by turns.
class work_account {
public:
    struct work {
        duration own;    // between two waits
        bool is_little;  // for an eager thread
    };
    /// Tells how long the thread has worked since its last wait, and whether that was little. To
    /// write a large body is no work, as long as the thread has had to wait about as long as that
    /// takes: else who reads ahead for it saves time (decision 0018). `in_large_writes`: of this
    /// thread so far, asked for only where it matters.
    template <class Ask>
    work until(time_point now, const Ask &in_large_writes) const noexcept {
        const duration own = now - over_at_ - copying_;
        if (own < longest_work)
            return {own, true};
        const duration writing = in_large_writes() - in_large_writes_;
        return {own, own - writing < longest_work && waited_ >= writing / 4 * 3};
    }
    /// A wait begins after so little work, or not. Whether it is time to ask.
    bool asks(bool is_little) noexcept {
        streak_ = is_little ? streak_ + 1 : std::min(streak_, 0);
        if (streak_ < eager_after)
            return false;
        streak_ = -asks_again_after;
        return true;
    }
    /// For long: what it would ask for goes back each time that it waits.
    void put_off_asking() noexcept { streak_ = -asks_again_after * asks_again_after; }
    /// To copy a large body out has taken so long: that was no work of the thread's own.
    void note_copying(duration taken) noexcept { copying_ += taken; }
    /// It waits, from `now` on; to read what comes then is part of the wait.
    void begin_wait(time_point now) noexcept {
        if (!std::exchange(is_waiting_, true))
            waits_since_ = now;
    }
    /// The wait is over, and what it brought is read.
    void end_wait(time_point now, duration in_large_writes) noexcept {
        if (std::exchange(is_waiting_, false))
            waited_ += now - waits_since_;
        over_at_ = now;
        copying_ = {};
        in_large_writes_ = in_large_writes;
    }
    /// Since it last worked for long.
    duration waited() const noexcept { return waited_; }
    void forget_waits() noexcept { waited_ = {}; }

private:
    time_point over_at_{};  // the last wait
    duration copying_{};    // since then
    duration in_large_writes_{};
    bool is_waiting_ = false;
    time_point waits_since_{};
    duration waited_{};
    int streak_ = 0;  // waits with little work in between
};

// ---- Whether it comes too late ------------------------------------------------------------------

/// Waits in a row, after long work, that were for what was there already (0018).
inline constexpr int most_late_waits = 4;

/// Whether the I/O thread could have read meanwhile what the waits after long work are for. They
/// are short then, and find octets at once: the answer to a request could not have been read
/// before. What is small is read in no time, and the lease pays by the waits alone.
class lateness {
public:
    /// A wait for whatever comes, or for room alone, begins. Whether all leases go back.
    template <class Ask>
    bool gives_back(const work_account::work &done, bool is_for_room, const Ask &expects_large,
                    work_account &account) noexcept {
        const duration work = before_room_ + (done.is_little ? duration::zero() : done.own);
        before_room_ = is_for_room ? work : duration::zero();
        // Waits before a long write do not count, either, for what comes after it.
        if (is_for_room || std::max(work, done.own) < longest_work)
            return false;
        const bool came_at_once = std::exchange(first_, look::to_come) == look::found;
        late_ = expects_large() && came_at_once && account.waited() < last_work_ / 4 * 3 ? late_ + 1 : 0;
        last_work_ = work;
        account.forget_waits();
        if (late_ < most_late_waits)
            return false;
        late_ = 0;
        return true;
    }
    /// Whether a wait after long work has neither read nor slept yet.
    bool looks_first() const noexcept { return first_ == look::to_come; }
    /// It has read.
    void note_read(bool has_found) noexcept {
        if (looks_first())
            first_ = has_found ? look::found : look::none;
    }
    /// The thread has slept, and not for a moment only, or the wait is over.
    void note_no_look() noexcept { note_read(false); }

private:
    /// The first of a wait after long work.
    enum class look : std::uint8_t { none, to_come, found };

    // The long work between the last wait for whatever comes and the last for room.
    duration before_room_{};
    duration last_work_{};  // that was long; zero: it was no work of its own
    int late_ = 0;
    look first_ = look::none;
};

// ---- How it is woken ----------------------------------------------------------------------------

/// A wait as short as this found what was there already: the thread reads next time without asking
/// (0008).
inline constexpr duration longest_short_wait = std::chrono::microseconds(3);
/// Waits in a row that brought so few reads: the next answer is looked for before the sleep (0009).
inline constexpr int waits_for_little = 8;
inline constexpr int few_reads = 2;

/// The use that the sleeps of a thread were of.
class wake_account {
public:
    void begin_sleep(time_point now, bool is_for_one) noexcept {
        const bool is_for_little = is_for_one && reads_ <= few_reads;
        for_little_ = is_for_little ? std::min(for_little_ + 1, waits_for_little) : 0;
        reads_ = 0;
        began_ = now;
    }
    void end_sleep(time_point now) noexcept { was_short_ = now - began_ < longest_short_wait; }
    /// A read got something.
    void note_read() noexcept { reads_ += reads_ <= few_reads; }
    /// A look was as good as a sleep.
    void note_answer() noexcept { reads_ = 0; }
    /// Whether what the last one was for was there already.
    bool was_short() const noexcept { return was_short_; }
    /// Whether the thread was woken several times in a row for what one or two reads took.
    bool is_for_little() const noexcept { return for_little_ == waits_for_little; }

private:
    time_point began_{};
    int for_little_ = 0;  // in a row
    int reads_ = 0;       // since then
    bool was_short_ = false;
};

// ---- Which of many ------------------------------------------------------------------------------

/// Among more pipes only those are asked for that messages go through both ways: each
/// lease costs something at each wait (decision 0014).
inline constexpr std::size_t few_pipes = 32;
inline constexpr std::size_t most_pipes_looked_at = 256;  // pipes, whether to ask for them (0014)
inline constexpr std::size_t most_leases = 256;           // of one socket (0014, 0015)
/// Waits that brought something elsewhere: one lease of many goes back then (0014).
inline constexpr std::uint32_t most_waits_in_vain = 64;

/// Whether messages go both ways, by their counts.
class dialogue {
public:
    /// Whether they did since the last call.
    bool take(std::uint64_t taken, std::uint64_t written) noexcept {
        const auto taken_now = static_cast<std::uint32_t>(taken);
        const auto written_now = static_cast<std::uint32_t>(written);
        const bool has_taken = std::exchange(taken_before_, taken_now) != taken_now;
        return (std::exchange(written_before_, written_now) != written_now) && has_taken;
    }

private:
    std::uint32_t taken_before_ = 0;  // the last digits
    std::uint32_t written_before_ = 0;
};

// ---- When the I/O thread ends one ---------------------------------------------------------------

/// Between its looks at leases, all at once (decision 0015).
inline constexpr duration between_looks = std::chrono::milliseconds(4);
/// The next use after a large body may be as long in coming as it takes to send one like it: for
/// each so many octets a lease may be unused for one look more, up to eight (0018).
inline constexpr std::size_t octets_each_look = 4 * 1024 * 1024;
inline constexpr std::size_t most_more_looks = 8;

constexpr std::uint32_t more_looks_after(std::size_t octets) noexcept {
    return static_cast<std::uint32_t>(std::min(octets / octets_each_look, most_more_looks));
}

enum class look_result {
    used,    // look again, and count from here on
    waits,   // the borrower is in a wait, and says when it leaves: no looks meanwhile
    unused,  // it may be for one look more
    over,    // the lease ends
};
/// A borrower that waits is left alone. A full stream is not left to one that is away: nobody waits
/// for it to take more. One that writes just now does. `now` answers has_been_used() (since the
/// last look), is_used(), more_looks(), is_full(), is_being_written().
template <class Facts>
[[gnu::always_inline]] inline look_result look_at_lease(const Facts &now) noexcept {
    if (now.has_been_used())
        return look_result::used;
    if (now.is_used())
        return look_result::waits;
    return now.more_looks() > 0 && (!now.is_full() || now.is_being_written()) ? look_result::unused
                                                                              : look_result::over;
}

}  // namespace zlink::lease_policy
