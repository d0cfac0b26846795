// The things that a socket may do with its end of a pipe to receive. A connection does it through
// `writing`.
//
// Layout:   frame by frame; the short ways; the lease of a connection at the other end.
// Threads:  the one that has the end.
#pragma once

#include <atomic>
#include <cstdint>

#include "pipe/account.hpp"
#include "pipe/connection_port.hpp"
#include "pipe/frame_queue.hpp"
#include "pipe/pipe_direction.hpp"

namespace zlink {

class pipe_end;

class receiver {
public:
    /// Bodies that are counted in octets too: half a mark of them is more memory than caches, and
    /// pools, hold.
    static constexpr std::size_t counted_in_octets_from = 16 * 1024;

    /// Takes the next frame, returning credit to the writer as messages are used up.
    bool read(frame_view &out) noexcept;
    bool has_input() noexcept;
    /// Does the queue's function of that name.
    bool has_command() noexcept { return in_->queue.has_command(); }
    /// Says that this end wants on_readable; after arming all pipes, run heavy_fence() and look at
    /// has_input() again.
    void arm_reader() noexcept;
    /// While this thread uses the lease of the reading half: it hears by itself of what it reads.
    void disarm_reader() noexcept { in_->reader_armed.store(false, std::memory_order_relaxed); }

    /// The mark of what comes here, in messages, as far as it is not one in octets that holds small
    /// messages up; 0 without one.
    std::uint64_t read_mark() const noexcept;
    /// Does the queue's function of that name.
    [[nodiscard]] bool own_body(const std::uint8_t *body) noexcept { return in_->queue.own_body(body); }
    /// A hello or a gone was read, and was not the first hello.
    void note_news_taken() noexcept {
        const unsigned before = in_->news_taken.load(std::memory_order_relaxed);
        in_->news_taken.store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
    }
    /// The last digits of how many these are.
    unsigned news_read() const noexcept { return in_->news_taken.load(std::memory_order_relaxed); }
    /// Whether the last of them was a gone: each is followed by a hello.
    bool is_peer_gone() const noexcept { return news_read() % 2 != 0; }
    /// The other end is a socket of another thread: reading may leave it alone for a moment when
    /// little is there.
    void stand_off() noexcept { in_->queue.stand_off(); }

    // ---- the short ways ----

    /// Does read() for a message of one small frame. False, and nothing taken, when something else
    /// comes next, or nothing.
    bool read_short(short_frame &out) noexcept;
    /// The frame that read_short() would take.
    bool peek_short(short_frame &out) noexcept { return in_->queue.peek_short(out); }
    /// Does the queue's function of that name, where no credit has to be returned.
    bool peek_at_once(short_frame &out) const noexcept { return in_->queue.peek_at_once(out); }
    bool read_at_once(short_frame &out, std::size_t capacity) noexcept;

    // ---- the lease of a connection at the other end ----

    /// Asks for the read lease of the connection at the other end. The answer comes as on_readable.
    /// False when there is no connection, or it has been asked.
    bool ask_for_lease() noexcept;
    /// The connection was read, or waited for, by somebody who is likely to come back: keeps the
    /// lease from ending.
    void note_use() noexcept;
    /// Neither asked for nor leased.
    bool is_lease_over() const noexcept;
    bool is_leased() const noexcept;
    /// Whether the I/O thread waits for the end of the use.
    bool is_recalled() const noexcept;
    /// While the lease is in use: whether messages were published to this end that it has not
    /// taken. Unlike has_input() it leaves the frame read last valid.
    bool has_untaken() const noexcept;

protected:
    receiver() = default;
    ~receiver() = default;

    /// 1 where a mark in octets decides, too; see pipe_direction::hwm.
    std::uint64_t telling_mark() const noexcept { return in_->hwm.load(std::memory_order_relaxed); }
    bool owes_by_both_marks() noexcept;
    void tell_drained() noexcept;
    void wake_writer() noexcept;
    void return_due_credit() noexcept;
    void return_credit() noexcept;
    void put_off_return() noexcept;
    bool read_conflated(frame_view &out) noexcept;
    bool read_slow(frame_view &out) noexcept;
    void note_large_taken(std::size_t octets) noexcept {
        const std::uint64_t taken = in_->large_taken.load(std::memory_order_relaxed) + octets;
        in_->large_taken.store(taken, std::memory_order_relaxed);
        reads_.note_large(taken);
    }
    void note_taken(std::uint64_t messages) noexcept {
        if (__builtin_expect(reads_.take(messages), 0))
            return_due_credit();
    }

    pipe_direction *in_ = nullptr;
    conflated_slot *conflated_in() const noexcept { return in_->newest.get(); }
    readers_account reads_;

private:
    friend class writing;

    pipe_end &self() noexcept;
    pipe_end &other() const noexcept;
    /// The other direction, with the lease of a connection at the other end.
    pipe_direction &back() const noexcept;
};

inline bool receiver::read(frame_view &out) noexcept {
    if (__builtin_expect(!in_->queue.read(out), 0))
        return read_slow(out);
    if (__builtin_expect(out.size >= counted_in_octets_from, 0))
        note_large_taken(out.size);
    if (!(out.flags & (frame_flag::more | frame_flag::command)))
        note_taken(1);
    return true;
}

[[gnu::always_inline]] inline bool receiver::read_short(short_frame &out) noexcept {
    if (!in_->queue.read_short(out))
        return false;
    note_taken(1);
    return true;
}

[[gnu::always_inline]] inline bool receiver::read_at_once(short_frame &out, std::size_t capacity) noexcept {
    if (__builtin_expect(!reads_.may_take_at_once(), 0) || !in_->queue.read_at_once(out, capacity))
        return false;
    reads_.take_at_once();
    return true;
}

}  // namespace zlink
