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
#include "pipe/flow/lease_policy.hpp"
#include "pipe/pipe.hpp"

namespace zlink {

class loop_descriptor;

class borrower {
public:
    static constexpr std::size_t few_pipes = lease_policy::few_pipes;

    borrower(const clock_source &clock, waiter &how) noexcept : clock_(clock), how_(how) {}

    enum class purpose : std::uint8_t {
        look,  // without waiting
        room,  // to wait until the peer has taken something
        wait,  // for whatever comes
        loop,  // without waiting: an event loop of the application does, and comes back
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
        for (int round = 0; round < most_rounds; ++round) {
            bool has_read = false;
            if (read([&](std::size_t, use &u) {
                    if (!u.held->expects_more() || (round > 0 && u.pipe->has_untaken()))
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
    /// The loop was told of these streams: it watches them no more. Before begin().
    void take_told(loop_descriptor &loop) noexcept;
    /// For an event loop, after begin(): reads what it does not watch, and writes on where a stream
    /// was full. `tell_unarmed(pipe_end &)` is told of each pipe.
    template <class LooksAgain>
    void read_for_loop(LooksAgain &&tell_unarmed) noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            uses_[i].pipe->disarm_reader();
        (void)read([](std::size_t, use &u) {
            return (u.watched == 0 || u.held.port().is_held_up()) && write_beside(u);
        });
        return_unread();
        for (std::size_t i = 0; i < size_; ++i)
            tell_unarmed(*uses_[i].pipe);
    }
    /// Has the loop watch all. Streams that it cannot watch are for the I/O threads.
    void leave_to(loop_descriptor &loop) noexcept;
    /// Whether one was granted that no begin() has seen yet.
    bool has_new() const noexcept;
    bool has_any() const noexcept { return !uses_.empty(); }
    /// All go back at end(), and it is long until others are asked for: the thread waits otherwise.
    void give_all_back() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            uses_[i].is_kept = false;
        account_.put_off_asking();
    }
    /// Tries again to write what full streams did not take.
    void write_full() noexcept {
        for (std::size_t i = 0; i < size_; ++i)
            (void)write_beside(uses_[i]);
    }
    /// Whether a full stream is all there is to wait for when nothing is to be read.
    bool is_held_up() const noexcept { return size_ == 1 && uses_[0].held.port().is_full(); }
    /// Whether a large frame, or the rest of one, is likely to come next.
    bool expects_large() const noexcept { return size_ == 1 && uses_[0].held->expects_large(); }
    /// Whether what the last wait was for was there already.
    bool had_short_wait() const noexcept { return wakes_.was_short(); }
    /// Whether the thread was woken several times in a row for what one or two reads took.
    bool was_woken_for_little() const noexcept { return size_ == 1 && wakes_.is_for_little(); }
    /// A look was as good as a wait.
    void note_answer() noexcept { wakes_.note_answer(); }
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
            if (__builtin_expect(offer_.is_out, 0))
                withdraw_offer(uses_[i]);
            uses_[i].held.end(uses_[i].is_kept);
            tell_unarmed(pipe);
        }
        if (std::exchange(has_lost_, false))
            std::erase_if(uses_, [](const use &u) { return !u.pipe->slot.is_attached(); });
        size_ = 0;
        listed_ = nullptr;
        offer_.is_out = false;
    }
    /// While one connection is in use: its next body may go there until end().
    void offer(std::span<std::uint8_t> to) noexcept {
        if (size_ != 1 || uses_[0].pipe->has_untaken())
            return;
        offer_.is_out = true;
        uses_[0].held->offer(to);
    }
    /// Whether part of a body stands there, and more may be read.
    bool fills_offer() const noexcept {
        return offer_.is_out && size_ == 1 && uses_[0].held->fills_offer() && !is_recalled();
    }
    /// Whether all of one was published since the last call.
    bool take_filled() noexcept { return std::exchange(offer_.is_filled, false); }
    /// After a wait, for a further one before end().
    void list_again() noexcept { listed_ = nullptr; }
    /// The wait that begin() told of is over, and what it brought is read.
    void note_wait_over(time_point now) noexcept {
        account_.end_wait(now, how_.this_thread().in_large_writes);
        lateness_.note_no_look();
    }
    /// To copy a large body out has taken so long: that was no work of the thread's own.
    void note_copying(duration taken) noexcept { account_.note_copying(taken); }

    /// Connections that are leased, and not in use, go back to the I/O threads.
    static void return_all(std::span<const pipe_end_ptr> pipes) noexcept;

private:
    static constexpr int most_rounds = 16;

    struct use {
        pipe_end *pipe;
        reading held = {};                // while it is in use
        std::uint32_t waits_in_vain = 0;  // that brought something elsewhere
        bool is_kept = false;
        short watched = 0;  // events of poll(2), by an event loop
        int stream = -1;    // the descriptor by which that knows it
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
        if (is_wait())
            u.pipe->note_use();
    }
    /// Whether the use counts as such of what is borrowed.
    bool is_wait() const noexcept { return why_ != purpose::look; }
    static short events_for(const use &u) noexcept;
    void ask_for_leases(std::span<const pipe_end_ptr> pipes, bool wants_dialogue) noexcept;
    void take_out(std::size_t at) noexcept {
        std::swap(uses_[at], uses_.back());
        uses_.pop_back();
    }
    void withdraw_offer(use &u) noexcept {
        const reading_half::offer_end how = u.held->withdraw_offer();
        offer_.is_filled |= how == reading_half::offer_end::filled;
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
            if (__builtin_expect(lateness_.looks_first(), 0))
                lateness_.note_read(u.held->has_read());
            const bool has_got = !had_input && u.pipe->has_untaken();
            if (has_got)
                wakes_.note_read();
            found |= has_got;
        }
        return found;
    }

    const clock_source &clock_;
    waiter &how_;
    time_point looked_at_{};  // by an event loop, the last time
    lease_policy::work_account account_;
    lease_policy::lateness lateness_;
    lease_policy::wake_account wakes_;
    bool has_many_ = false;  // pipes
    bool has_lost_ = false;  // a pipe that was in use
    purpose why_ = purpose::look;
    std::size_t next_ = 0;   // pipe to be looked at
    std::vector<use> uses_;  // asked for (twice, where it was refused first) or leased
    std::size_t size_ = 0;   // of the first of them, which are in use
    const wait_item *listed_ = nullptr;
    struct {
        bool is_out = false;     // until end()
        bool is_filled = false;  // one that was withdrawn
    } offer_;
    block_ref scratch_;
};

}  // namespace zlink
