// The things that a socket may do with its end of a pipe to send; a connection writes into its pipe
// so, too.
//
// Layout:   frame by frame; the short ways; what a connection at the other end does on this thread;
//           gaps; how far this end is ahead.
// Threads:  the one that has the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "core/fence.hpp"
#include "pipe/account.hpp"
#include "pipe/connection_port.hpp"
#include "pipe/flow/pace.hpp"
#include "pipe/flow/send_flow.hpp"
#include "pipe/frame_queue.hpp"
#include "pipe/pipe_direction.hpp"
#include "pipe/writing.hpp"

namespace zlink {

class pipe_end;

/// The news that one end has told of the peer that is there: that it came, and went.
class said_news {
public:
    /// Whether a peer is there, by what was said last.
    bool is_hello() const noexcept { return is_hello_; }
    void note_hello() noexcept { is_hello_ = true; }
    void note_gone() noexcept {
        is_hello_ = false;
        count_ = static_cast<std::uint8_t>(count_ + 2);  // with the hello that has to follow
    }
    /// The last digits of how many there were, without the first hello; as
    /// pipe_direction::news_taken, which has said how many were `taken`.
    std::uint8_t count() const noexcept { return count_; }
    int untaken(std::uint8_t taken) const noexcept { return static_cast<std::int8_t>(count_ - taken); }

private:
    bool is_hello_ = false;
    std::uint8_t count_ = 0;
};

class sender {
public:
    /// Whether a message may be started now. Looks at the shared count only when the cached credit
    /// is used up.
    bool has_credit() noexcept;
    /// Writes one frame. The caller has checked has_credit() before the first frame of a message.
    error write(std::uint8_t flags, byte_span body) noexcept;
    error write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    error append(block *owner, byte_span range, std::uint32_t messages, bool starts_message,
                 std::size_t owner_size = 0) noexcept;
    error write_wire(byte_span frames, std::uint32_t messages) noexcept;
    /// From this size on a body should be written with write_external(), if its memory allows that.
    std::size_t reference_threshold() const noexcept { return out_->reference_threshold; }
    /// Makes what was written visible. Where the reader is armed, it is woken, or a connection
    /// writes at once on this thread when `may_write` and the pace allow it. Call after the last
    /// frame of a message. Where the stream is full, and the socket may wait for it, the rest of
    /// this follows when that wait is over: see room_wait.
    void publish(bool may_write = true) noexcept;
    void roll_back() noexcept;
    bool has_unpublished() const noexcept;
    /// Says that this end wants on_writable; after arming all pipes, run heavy_fence() and look at
    /// has_credit() again.
    void arm_writer() noexcept;
    /// Whether commands that change a state (subscriptions) are to be written. Where the other end
    /// is a connection that is still to come, they would only pile up: it asks for the state as a
    /// whole.
    bool is_followed() const noexcept { return out_->is_followed.load(std::memory_order_relaxed); }
    /// Tells the other end how many messages there was no room for.
    class gap_telling;
    gap_telling gaps() noexcept;
    /// The number of messages that can still be written: the mark less what is under way;
    /// UINT64_MAX without a mark. Refreshes.
    std::uint64_t credit() noexcept;
    /// The owner of the far end. Only what a connection takes is gathered, and written on this
    /// thread.
    end_kind other_kind() const noexcept { return other_kind_; }

    // ---- the short ways ----

    /// Writes and publishes a message of one small frame, between messages. False, and nothing
    /// done, when there is more to decide than whether the reader sleeps: then has_credit(),
    /// write() and publish(), and allow_short_writes() again.
    bool write_short(byte_span body) noexcept;
    enum class at_once { refused, done, sent_needs_wake };
    /// Does write_short() but for waking the reader, who may sleep: then wake_reader() has to
    /// follow. Calls nothing for 255 octets or less.
    at_once write_at_once(byte_span body) noexcept;
    /// Wakes the armed reader, or does its work when `may_write`.
    void wake_reader(bool may_write) noexcept;
    void allow_short_writes() noexcept;
    /// Whether has_credit() is known to be true, and write_short() goes unless the frame itself is
    /// in its way.
    bool may_write_short() const noexcept { return flow_.may_write_short(writes_.written()); }

    // ---- what a connection at the other end does on this thread ----

    /// Lets publish() write on this thread. The pace must outlive this end's use by its socket.
    void set_pace(pace *owners) noexcept { pace_ = owners; }
    /// Has the connection at the other end, if there is one, write on this thread what was
    /// published. True when all went out. With occasion::ready, which is for who has the lease, one
    /// that is refused is told: see awaits_turn().
    bool write_now(connection_port::occasion when = connection_port::occasion::any) noexcept {
        return write_on_this_thread(when, false);
    }
    /// Whether write_now() was refused, since another thread has the write turn: once that gives it
    /// back, on_readable() is called if anything is left.
    bool awaits_turn() const noexcept { return out_->turn.is_wanted(); }
    /// For a thread that goes to wait: writes out what the connection at the other end would only
    /// look for later, or is being woken for. Where all went out, the next message finds that
    /// connection armed.
    void flush_remainder() noexcept {
        if (is_served() && !out_->reader_armed.load(std::memory_order_relaxed))
            (void)write_on_this_thread(connection_port::occasion::any, true);
    }
    /// Writes the last frame of a message, and copies no more of its body than the connection at
    /// the other end does not take at once. publish() has to follow, with the body still there.
    error write_last_large(byte_span body) noexcept;
    /// Bodies from here on are written so: to copy a smaller one is less work than to ask the
    /// stream again and again.
    static constexpr std::size_t written_in_place_from = 128 * 1024;

    /// Tells how far this end is ahead of the other.
    class backlog_ahead;
    backlog_ahead backlog() noexcept;

protected:
    sender() = default;
    ~sender() = default;

    /// 1 where a mark in octets decides, too; see pipe_direction::hwm.
    std::uint64_t write_mark() const noexcept { return out_->hwm.load(std::memory_order_relaxed); }
    /// The other end is a connection that can write, just now.
    bool is_served() const noexcept { return out_->server.load(std::memory_order_relaxed) != nullptr; }

    pipe_direction *out_ = nullptr;
    conflated_slot *conflated_out_ = nullptr;
    writers_account writes_;
    send_flow flow_;
    bool is_closed_ = false;
    bool owes_gap_ = false;  // as gap_telling::note_owed() says
    said_news news_;
    end_kind other_kind_ = end_kind::socket;
    writing in_place_;  // held from write_last_large() to publish()
    pace *pace_ = nullptr;

private:
    friend class room_wait;

    // The facts that write_policy is told.
    struct answer_facts;
    struct publish_facts;
    struct body_facts;

    bool publish_in_stream(bool may_write) noexcept;
    bool publish_in_place(bool may_write, std::size_t octets) noexcept;
    bool write_with_waits(writing turn, std::size_t octets, bool is_in_place) noexcept;
    bool write_while_taken(writing &turn, bool was_full, connection_port::written &result) noexcept;
    void end_large_write(writing &turn, connection_port::written result, std::size_t in_place) noexcept;
    void tell_reader(bool may_write) noexcept;
    bool end_write(writing &turn, connection_port::written result, bool arms) noexcept;
    void plan_write() noexcept;
    bool wakes_by_writing() noexcept;
    bool write_on_this_thread(connection_port::occasion when, bool arms, bool is_alone = false) noexcept;
    /// To write what this end publishes.
    writing try_take_turn() noexcept;
    void note_sleeper() noexcept;
    void fence_publish() noexcept;
    bool has_new_credit(std::uint64_t mark) noexcept;
    bool has_room_in_octets() noexcept;
    void note_fullness() noexcept;
    std::uint64_t room_below(std::uint64_t mark, octet_marks &marks) noexcept;
    std::uint64_t full_at_in_octets() noexcept;
    void hear_of_returned() noexcept { writes_.hear(out_->returned.load(std::memory_order_acquire)); }
    error write_conflated(byte_span body) noexcept;
    void publish_conflated() noexcept;
    bool has_conflated_unpublished() const noexcept;
    error write_frames(byte_span frames) noexcept;

    pipe_end &self() noexcept;
    const pipe_end &self() const noexcept;
    pipe_end &other() const noexcept;
};

class sender::gap_telling {
public:
    /// Whether the other end wants to know.
    bool are_wanted() const noexcept { return of_.out_->has_noted(pipe_direction::gaps_wanted); }
    /// Whether some is still to be told: until then there are no short writes.
    void note_owed(bool is_owed) noexcept {
        of_.owes_gap_ = is_owed;
        if (is_owed)
            of_.flow_.end_short_writes();
    }
    /// Tells it in front of the next message, which has to follow before publish(). 0 is an unknown
    /// number. It is said to the peer of whose coming this end has read last.
    error write(std::uint64_t lost) noexcept;

private:
    friend class sender;
    explicit gap_telling(sender &whose) noexcept : of_(whose) {}

    sender &of_;
};

inline sender::gap_telling sender::gaps() noexcept { return gap_telling(*this); }

class sender::backlog_ahead {
public:
    /// Octets that were published and not taken by the other end. Towards a socket those of large
    /// bodies alone; towards a connection all that were published, at least up to the last large
    /// body.
    std::uint64_t large_octets() const noexcept {
        return of_.flow_.large_under_way(of_.out_->large_taken.load(std::memory_order_relaxed));
    }
    /// About how many octets were written and not taken by the other end: the messages under way,
    /// of which up to 1024 may be taken, as large as those of the last batch on average.
    std::uint64_t about_octets() const noexcept {
        const std::uint64_t taken = of_.out_->about_taken.load(std::memory_order_relaxed);
        return (of_.writes_.written() - taken) * of_.flow_.octets_each();
    }
    /// Whether it is time to look how far that is: after each 512 KiB or 1024 messages, about.
    bool is_check_due() const noexcept { return of_.flow_.is_backlog_check_due(of_.writes_.written()); }
    /// Until the next such time.
    void begin_window() noexcept;

private:
    friend class sender;
    explicit backlog_ahead(sender &whose) noexcept : of_(whose) {}

    sender &of_;
};

inline sender::backlog_ahead sender::backlog() noexcept { return backlog_ahead(*this); }

inline bool sender::has_credit() noexcept {
    const std::uint64_t mark = write_mark();
    return writes_.has_room(mark) || has_new_credit(mark);
}

inline error sender::write(std::uint8_t flags, byte_span body) noexcept {
    if (__builtin_expect(conflated_out_ && !(flags & frame_flag::command), 0))
        return write_conflated(body);
    const error e = out_->queue.write(flags, body);
    if (__builtin_expect(body.size() >= receiver::counted_in_octets_from, 0) && !failed(e))
        flow_.note_large(body.size());
    if (!failed(e) && !(flags & (frame_flag::more | frame_flag::command)))
        writes_.write(1);
    return e;
}

[[gnu::always_inline]] inline void sender::publish(bool may_write) noexcept {
    out_->queue.publish();
    writes_.publish();
    if (__builtin_expect(conflated_out_ != nullptr, 0))
        publish_conflated();
    flow_.note_publish();
    if (__builtin_expect(flow_.is_write_due(writes_.written()) || flow_.has_large(), 0) &&
        !publish_in_stream(may_write))
        return;
    tell_reader(may_write);
}

/// Wakes the reader, or does its work, if it sleeps.
[[gnu::always_inline]] inline void sender::tell_reader(bool may_write) noexcept {
    if (__builtin_expect(flow_.fences(), 0))
        fence_publish();
    else
        light_fence();
    if (__builtin_expect(out_->reader_armed.load(std::memory_order_relaxed), 0))
        wake_reader(may_write);
}

[[gnu::always_inline]] inline sender::at_once sender::write_at_once(byte_span body) noexcept {
    if (__builtin_expect(!may_write_short(), 0) || !out_->queue.write_short(body))
        return at_once::refused;
    writes_.write_at_once();
    flow_.note_publish();
    light_fence();
    return __builtin_expect(out_->reader_armed.load(std::memory_order_relaxed), 0) ? at_once::sent_needs_wake
                                                                                   : at_once::done;
}

[[gnu::always_inline]] inline bool sender::write_short(byte_span body) noexcept {
    const at_once result = write_at_once(body);
    if (__builtin_expect(result == at_once::sent_needs_wake, 0))
        wake_reader(true);
    return result != at_once::refused;
}

inline bool sender::has_unpublished() const noexcept {
    return out_->queue.has_unpublished() || (conflated_out_ && has_conflated_unpublished());
}

}  // namespace zlink
