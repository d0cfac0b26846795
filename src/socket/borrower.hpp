// Reads the connections of a socket on the socket's own thread while that thread has nothing else
// to do.
//
// Flow:     begin() takes what is leased into use, and asks for more when the thread waits often.
//           The caller waits for the descriptors and its own level together, calls go_on() with
//           what is ready, and end().
// Limits:   of many pipes only those are asked for that messages go through both ways, and given
//           back when they bring nothing: each costs something at each wait. A socket that works
//           long between its waits leaves all to the I/O threads.
// Threads:  the socket's.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/platform.hpp"
#include "core/waiter.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

class borrower {
public:
    static constexpr std::size_t few_pipes = 32;

    borrower(const clock_source &clock, waiter &how) noexcept : clock_(clock), how_(how) {}

    enum class purpose {
        look,  // without waiting
        room,  // to wait until the peer has taken something
        wait,  // for whatever comes
    };
    /// Takes into use what is leased. A thread that waits may ask for others of `pipes`; it gives
    /// all back when it is better to read them while it works.
    void begin(std::span<const pipe_end_ptr> pipes, purpose why) noexcept;
    /// A pipe leaves its socket.
    void forget(const pipe_end &pipe) noexcept;
    std::size_t size() const noexcept { return size_; }
    /// Whether one is wanted back: end() instead of waiting.
    bool is_recalled() const noexcept;
    /// Lists what to wait for from `now` on. Returns the number of items: size(), or 0 when they
    /// are listed already.
    std::size_t list(wait_item *items, time_point now) noexcept;
    /// Reads streams that hold octets which their descriptors do not show: nobody may wait for
    /// those descriptors before that. True when something was published, or may still be. Octets
    /// behind a message that the pattern does not want now may stay unread.
    bool read_more() noexcept {
        for (int turn = 0; turn < most_turns; ++turn) {
            bool has_read = false;
            if (read([&](std::size_t, use &u) {
                    if (!u.held->expects_more() || (turn > 0 && u.pipe->has_untaken()))
                        return false;
                    has_read = true;
                    return write_beside(u);
                }))
                return true;
            if (!has_read)
                return false;
        }
        return true;
    }
    /// Before a sleep: what read_more() let stay is for the I/O threads, since who sleeps would not
    /// hear of it.
    void return_unread() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            uses_[i].is_kept = uses_[i].is_kept && !uses_[i].held->expects_more();
    }
    /// Whether there is something to read from the first, without waiting for it.
    bool is_ready(waiter &how) const noexcept;
    /// Tries again to write what full streams did not take.
    void write_full() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            (void)write_beside(uses_[i]);
    }
    /// Whether a full stream is all there is to wait for when nothing is to be read.
    bool is_held_up() const noexcept { return size_ == 1 && uses_[0].held.port().is_full(); }
    /// Whether a large frame, or the rest of one, is likely to come next.
    bool expects_large() const noexcept { return size_ == 1 && uses_[0].held->expects_large(); }
    /// Whether its sender runs on this thread's processor, as far as is known.
    bool shares_processor() const noexcept { return size_ == 1 && uses_[0].held->shares_processor(); }
    /// Whether what the last wait was for was there already.
    bool had_short_wait() const noexcept { return had_short_wait_; }
    /// Whether the thread was woken several times in a row for what one or two reads took.
    bool was_woken_for_little() const noexcept { return size_ == 1 && waits_for_little_ == some_waits; }
    /// A look was as good as a wait.
    void note_answer() noexcept { reads_since_wait_ = 0; }
    /// After a wait for what list() gave: writes and reads those whose items are ready. True when
    /// something was published.
    bool go_on(time_point now) noexcept;
    /// Reads all, whether or not there is something to read.
    bool read_all() noexcept {
        return read([](std::size_t, use &u) { return write_beside(u); });
    }
    /// Ends the use. `tell_unarmed(pipe_end &)` is told of each pipe: it is not armed.
    template <class LooksAgain>
    void end(LooksAgain &&tell_unarmed) noexcept {
        for (std::size_t i = 0; i < size_; ++i) {
            pipe_end &pipe = *uses_[i].pipe;
            if (__builtin_expect(has_offer_, 0))
                withdraw_offer(uses_[i]);
            uses_[i].held.end(uses_[i].is_kept);
            tell_unarmed(pipe);
        }
        if (std::exchange(has_lost_, false))
            std::erase_if(uses_, [](const use &u) { return !u.pipe->slot.is_attached; });
        size_ = 0;
        listed_ = nullptr;
        has_offer_ = false;
    }
    /// While one connection is in use: its next body may go there until end().
    void offer(std::span<std::uint8_t> to) noexcept {
        if (size_ != 1 || uses_[0].pipe->has_untaken())
            return;
        has_offer_ = true;
        uses_[0].held->offer(to);
    }
    /// Whether part of a body stands there, and more may be read.
    bool fills_offer() const noexcept {
        return has_offer_ && size_ == 1 && uses_[0].held->fills_offer() && !is_recalled();
    }
    /// Whether all of one was published since the last call.
    bool take_filled() noexcept { return std::exchange(has_filled_offer_, false); }
    /// After a wait, for a further one before end().
    void list_again() noexcept { listed_ = nullptr; }
    /// The wait that begin() told of is over, and what it brought is read.
    void note_wait_over(time_point now) noexcept {
        if (std::exchange(is_waiting_, false))
            waited_ += now - waits_since_;
        wait_over_at_ = now;
        looks_first_ = false;
        copying_ = {};
        in_large_writes_ = how_.this_thread().in_large_writes;
    }
    /// To copy a large body out has taken so long: that was no work of the thread's own.
    void note_copying(duration taken) noexcept { copying_ += taken; }

    /// Connections that are leased, and not in use, go back to the I/O threads.
    static void return_all(std::span<const pipe_end_ptr> pipes) noexcept;

private:
    static constexpr duration longest_work =
        std::chrono::milliseconds(1);  // between waits of an eager thread
    static constexpr duration longest_short_wait = std::chrono::microseconds(3);
    static constexpr int some_waits = 8;
    static constexpr int few_reads = 2;
    static constexpr int most_turns = 16;
    static constexpr int eager_after = 4;
    static constexpr int asks_again_after = 16;
    static constexpr int most_late = 4;                 // in a row
    static constexpr std::size_t most_looked_at = 256;  // pipes, whether to ask for them
    static constexpr std::size_t most_uses = 256;
    static constexpr std::uint32_t most_waits_in_vain = 64;  // for one of many

    struct use {
        pipe_end *pipe;
        reading held = {};                // while it is in use
        std::uint32_t waits_in_vain = 0;  // that brought something elsewhere
        bool is_kept = false;
    };

    /// Tries a stream again that was full, or busy: a thread that reads without waiting does not
    /// hear that it takes more.
    static bool write_beside(use &u) noexcept {
        if (u.held.port().is_held_up())
            (void)u.pipe->write_now(connection_port::occasion::ready);
        return true;
    }
    /// Keeps the lease from ending, where the thread waits: reading without waiting is no reason to
    /// keep it.
    void note_use(use &u) const noexcept {
        if (counts_)
            u.pipe->note_use();
    }
    static short events_for(const use &u) noexcept;
    struct work {
        duration own;    // between two waits
        bool is_little;  // for an eager thread
    };
    work work_until(time_point now) const noexcept;
    bool comes_late(duration work) noexcept;
    void consider(std::span<const pipe_end_ptr> pipes, bool is_eager) noexcept;
    void take_out(std::size_t at) noexcept {
        std::swap(uses_[at], uses_.back());
        uses_.pop_back();
    }
    void withdraw_offer(use &u) noexcept {
        const reading_half::offer_end how = u.held->withdraw_offer();
        has_filled_offer_ |= how == reading_half::offer_end::filled;
        u.is_kept = u.is_kept && how != reading_half::offer_end::failed;
    }
    template <class Wanted>
    bool read(Wanted &&wanted) noexcept {
        bool found = false;
        for (std::size_t i = 0; i < size_; ++i) {
            use &u = uses_[i];
            if (!u.is_kept || !wanted(i, u))
                continue;
            const bool had_input = u.pipe->has_untaken();  // which the pattern does not want now
            note_use(u);
            const platform::cancellation_shield shield;
            u.is_kept = u.held->read_now(scratch_);
            if (__builtin_expect(looks_first_, 0)) {
                looks_first_ = false;
                came_at_once_ = u.held->has_read();
            }
            const bool has_got = !had_input && u.pipe->has_untaken();
            reads_since_wait_ += has_got && reads_since_wait_ <= few_reads;
            found |= has_got;
        }
        return found;
    }

    const clock_source &clock_;
    waiter &how_;
    time_point wait_over_at_{};
    duration copying_{};          // since then
    duration in_large_writes_{};  // of this thread until then
    duration before_room_{};    // of long work between the last wait for whatever comes and the last for room
    time_point wait_began_{};   // what is borrowed was listed
    bool is_waiting_ = false;   // what is borrowed was listed in this wait
    time_point waits_since_{};  // when that was done first: to read what comes then is part of the wait
    duration waited_{};         // since it last worked for long
    duration last_work_{};      // that was long; zero: it was no work of its own
    bool looks_first_ = false;  // a wait after long work has neither read nor slept yet
    bool came_at_once_ = false;  // the first read of such a wait has found octets
    int late_ = 0;               // such waits for large bodies that were short, in a row
    bool had_short_wait_ = false;
    int waits_for_little_ = 0;  // in a row
    int reads_since_wait_ = 0;  // that got something
    int streak_ = 0;            // waits with little work in between
    bool has_many_ = false;     // pipes
    bool counts_ = false;       // as use of what is borrowed
    bool has_lost_ = false;     // a pipe that was in use
    std::size_t next_ = 0;      // pipe to be looked at
    std::vector<use> uses_;     // asked for (twice, where it was refused first) or leased
    std::size_t size_ = 0;      // of the first of them, which are in use
    const wait_item *listed_ = nullptr;
    bool has_offer_ = false;         // until end()
    bool has_filled_offer_ = false;  // that was withdrawn
    block_ref scratch_;
};

}  // namespace zlink
