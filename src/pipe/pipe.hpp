// A pipe: two frame queues, one each way, with high-water marks, wake-ups and an orderly end.
//         Sockets and sessions meet here.
//
// Credit:   each queue has a mark in messages. A writer works from a cached count of what the
//           reader has taken and looks at the shared count only when the cache is used up. Command
//           frames are never counted; over inproc subscriptions are such.
// Waking:   a reader that found nothing arms itself, runs heavy_fence() once for all its pipes, and
//           looks again; a writer that publishes to an armed reader disarms it and calls the other
//           end's `pipe_events`. The same for credit.
// End:      close() says that nothing more will be written or read at this end. Messages published
//           before can still be read at the other end, which then finds is_finished().
// Threads:  each end belongs to one thread at a time; `pipe_events` is called from the other end's
//           thread. Of a connection's end the thread of the socket uses what belongs to a `writing`
//           that it holds, or to the lease that it has in use.
// Owns:     both ends live in one object that the last of the two pointers destroys.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/fence.hpp"
#include "pipe/account.hpp"
#include "pipe/connection_port.hpp"
#include "pipe/frame_queue.hpp"
#include "pipe/pace.hpp"
#include "pipe/pipe_direction.hpp"

namespace zlink {

class pipe;
class pipe_end;
using pipe_end_ptr = std::shared_ptr<pipe_end>;

/// Tells the owner of one end of the other. Called on the other end's thread, from the middle of
/// what it does; must not block, and not call that end. An end that no thread looks after may be
/// used from there, as from any other thread.
class pipe_events {
public:
    virtual ~pipe_events() = default;
    virtual void on_readable(pipe_end &end) noexcept = 0;  // messages were published to an armed reader
    virtual void on_writable(pipe_end &end) noexcept = 0;  // credit came back to an armed writer
    virtual void
    on_closed(pipe_end &end) noexcept = 0;  // the other end was closed; published messages remain readable
};

/// The write turn of a queue that a connection takes, held: what only its holder may do, on
/// whichever thread that is. An empty one was refused, or given back.
class [[nodiscard]] writing {
public:
    writing() noexcept = default;
    writing(writing &&other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    writing &operator=(writing &&other) noexcept {
        std::swap(end_, other.end_);
        return *this;
    }
    ~writing() {
        if (end_)
            (void)give();
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }
    /// Gives the turn back. True when somebody was refused meanwhile, and wants out what was
    /// published.
    [[nodiscard]] bool give() noexcept;
    /// Whether the end of the connection waits for it.
    bool is_claimed() const noexcept;

    bool has_input() noexcept;
    frame_queue::gathered gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept;
    std::uint64_t octets_to_message_end(std::uint64_t since_end) noexcept;
    void release(std::size_t octets) noexcept;
    /// Takes the next frame, for one who encodes it anew.
    bool read(frame_view &out) noexcept;
    /// The frames that come next, as far as they stand one behind the other; and takes whole ones
    /// of them, in which so many messages end.
    byte_span peek_run() noexcept;
    void read_run(std::size_t octets, std::uint64_t messages) noexcept;
    void drop_cut_message() noexcept;
    /// Whether the body that was read last stands where its writer has it, and its owner is memory
    /// for a copy.
    bool has_read_in_place() const noexcept;
    /// Copies what is left of a body that was written in place. Its writer holds the turn.
    void copy_rest() noexcept;
    /// Exact once all that was gathered is released.
    std::uint64_t messages_taken() const noexcept;
    /// Returns credit once a step of messages has been taken. To be called when nothing was found
    /// to gather, too: the mark may have been lowered since the step was chosen, and the writer
    /// must not wait for a reader with nothing to read.
    void return_due_credit() noexcept;
    /// Does pipe_end::arm_reader().
    void arm_reader() noexcept;

    /// A small frame has so many octets more on the wire than in the queue. The other end plans its
    /// writes by that.
    void expect_growth(std::size_t octets) noexcept;
    /// Lets the other end write, and borrow, through `io`, until the turn is claimed.
    void serve(connection_port &io) noexcept;
    /// Whom the other end writes through, or null.
    connection_port *server() const noexcept;

private:
    friend class pipe_end;
    explicit writing(pipe_end *connections) noexcept : end_(connections) {}

    pipe_end *end_ = nullptr;  // the connection's
};

class alignas(64) pipe_end {
public:
    /// Bodies that are counted in octets too: half a mark of them is more memory than caches, and
    /// pools, hold.
    static constexpr std::size_t counted_in_octets_from = 16 * 1024;

    // ---- writing: sockets and connections ----

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
    /// frame of a message.
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
    /// The number of messages that can still be written: the mark less what is under way;
    /// UINT64_MAX without a mark. Refreshes.
    std::uint64_t credit() noexcept;

    // ---- reading: sockets; a connection does it through `writing` ----

    /// Takes the next frame, returning credit to the writer as messages are used up.
    bool read(frame_view &out) noexcept;
    bool has_input() noexcept;
    /// Does the queue's function of that name.
    bool has_command() noexcept { return in_->queue.has_command(); }
    /// Says that this end wants on_readable; after arming all pipes, run heavy_fence() and look at
    /// has_input() again.
    void arm_reader() noexcept;

    // ---- a socket: the short ways ----

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
    bool may_write_short() const noexcept { return writes_.written() < short_until_; }
    /// Does read() for a message of one small frame. False, and nothing taken, when something else
    /// comes next, or nothing.
    bool read_short(short_frame &out) noexcept;
    /// The frame that read_short() would take.
    bool peek_short(short_frame &out) noexcept { return in_->queue.peek_short(out); }
    /// Does the queue's function of that name, where no credit has to be returned.
    bool peek_at_once(short_frame &out) const noexcept { return in_->queue.peek_at_once(out); }
    bool read_at_once(short_frame &out, std::size_t capacity) noexcept;

    // ---- a socket: what a connection at the other end does on this thread ----

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

    // ---- a socket: the lease of that connection ----

    /// Asks for the read lease of the connection at the other end. The answer comes as on_readable.
    /// False when there is no connection, or it has been asked.
    bool ask_for_lease() noexcept;
    /// The connection to be read on this thread until end_use(); null when it is not leased.
    connection_port *begin_use() noexcept {
        return out_->lease.begin_use() ? out_->server.load(std::memory_order_relaxed) : nullptr;
    }
    /// The connection was read, or waited for, by somebody who is likely to come back: keeps the
    /// lease from ending.
    void note_use() noexcept { out_->lease.note_use(); }
    /// Neither asked for nor leased.
    bool is_lease_over() const noexcept { return out_->lease.is_over(); }
    /// Whether messages went both ways since the last call.
    bool take_dialogue() noexcept {
        const auto taken = static_cast<std::uint32_t>(reads_.taken());
        const auto written = static_cast<std::uint32_t>(writes_.written());
        const bool has_taken = std::exchange(slot.taken_before, taken) != taken;
        return (std::exchange(slot.written_before, written) != written) && has_taken;
    }
    /// Whether the I/O thread waits for end_use().
    bool is_recalled() const noexcept { return out_->lease.is_recalled(); }
    void end_use(bool keep) noexcept;
    /// While the lease is in use: whether messages were published to this end that it has not
    /// taken. Unlike has_input() it leaves the frame read last valid.
    bool has_untaken() const noexcept { return other_->writes_.published() != reads_.taken(); }

    // ---- a socket: how far it is ahead ----

    /// Octets that were published and not taken by the other end. Towards a socket those of large
    /// bodies alone; towards a connection all that were published, at least up to the last large
    /// body.
    std::uint64_t large_under_way() noexcept {
        const std::uint64_t taken = out_->large_taken.load(std::memory_order_relaxed);
        if (taken > large_published_)
            large_published_ = taken;
        return large_published_ - taken;
    }
    /// About how many octets were written and not taken by the other end: the messages under way,
    /// of which up to 1024 may be taken, as large as those of the last batch on average.
    std::uint64_t about_under_way() const noexcept {
        return (writes_.written() - out_->about_taken.load(std::memory_order_relaxed)) * octets_each_;
    }
    /// Whether it is time to look how far ahead of the other end this one is: after each 512 KiB or
    /// 1024 messages, about.
    bool is_backlog_check_due() const noexcept { return writes_.written() >= next_backlog_check_; }
    void begin_backlog_window() noexcept;

    // ---- a socket: the rest ----

    /// Does the queue's function of that name.
    [[nodiscard]] bool own_body(const std::uint8_t *body) noexcept { return in_->queue.own_body(body); }
    /// A hello or a gone was read, and was not the first hello.
    void note_news_taken() noexcept {
        const unsigned before = in_->news_taken.load(std::memory_order_relaxed);
        in_->news_taken.store(static_cast<std::uint8_t>(before + 1), std::memory_order_relaxed);
    }
    /// The other end is a socket of another thread: reading may leave it alone for a moment when
    /// little is there.
    void stand_off() noexcept { in_->queue.stand_off(); }

    // ---- a connection or a session at this end ----

    /// The messages in the pipe are taken in turns, from the first on. Empty when the other end is
    /// writing: it calls on_readable when it has done.
    writing take_turn() noexcept { return writing(in_->turn.take_or_request() ? this : nullptr); }
    /// Whether a thread is writing what this end reads.
    bool is_being_written() const noexcept { return in_->turn.is_held(); }
    /// The turn for good, to end with: the other end does not write any more. Empty while it does:
    /// it calls on_readable when it has done, and the turn is to be claimed again then.
    writing claim_turn() noexcept {
        if (!in_->turn.claim())
            return {};
        in_->server.store(nullptr, std::memory_order_relaxed);
        return writing(this);
    }
    read_lease &lease() noexcept { return in_->lease; }
    /// Makes the other end's socket look, also out of a wait.
    void wake_other_end() noexcept;
    /// Peer record for messages written from here on (sessions).
    void set_info(peer_info *info) noexcept;
    /// Tells the other end that a peer is there, under this id, or that it is away until the next
    /// hello. A peer that comes and goes while nobody takes the news is there all the time: only so
    /// much is left in the pipe. The hello is to be published.
    error say_hello(byte_span routing_id) noexcept;
    void say_gone() noexcept;
    /// Says whether the commands of the other end are wanted. From off to on with what guards the
    /// state locked, after it was read.
    void follow(bool on) noexcept { in_->is_followed.store(on, std::memory_order_relaxed); }
    /// Whether more messages are under way than the mark allows.
    bool is_beyond_mark() const noexcept;
    /// The mark of what this end reads; 0 without one.
    std::uint64_t read_mark() const noexcept { return in_->hwm.load(std::memory_order_relaxed); }

    // ---- life: sockets and sessions ----

    /// No more writing or reading at this end: rolls back what was not published and tells the
    /// other end, once. `linger_ms`: how long the other end shall try to send on what was
    /// published; -1 for ever.
    void close(int linger_ms = 0) noexcept;
    /// After is_peer_closed(): the linger the other end asked for.
    int peer_linger_ms() const noexcept;
    bool is_closed() const noexcept;
    /// The other end was closed.
    bool is_peer_closed() const noexcept;
    /// The other end was closed and everything it published has been read.
    bool is_finished() noexcept;
    /// Changes this end's share of the mark of what it writes; the mark is the sum of both ends'
    /// shares, and none if one of them is 0. Credit for what a connection has taken is settled by
    /// the new mark.
    void set_write_hwm(std::uint64_t messages) noexcept;
    /// Changes this end's share of the mark of what it reads; wakes the writer.
    void set_read_hwm(std::uint64_t messages) noexcept;
    /// Set once, by the end's owner, before it arms anything.
    void set_events(std::shared_ptr<pipe_events> events) noexcept;
    /// Whether this pipe keeps the newest message only. Such a pipe is read frame by frame, never
    /// gathered.
    bool is_conflating() const noexcept { return conflated_out_ != nullptr; }
    /// The owner of the far end. Only what a connection takes is gathered, and written on this
    /// thread.
    end_kind other_kind() const noexcept { return other_kind_; }
    /// The far end, to be compared with; it belongs to somebody else.
    const pipe_end &other() const noexcept { return *other_; }
    /// What went out of this end, and what came to it. Any thread. Where the newest message alone is
    /// kept, commands count and nothing else.
    passage outgoing() const noexcept {
        const amount taken{other_->reads_.look_at_taken(), out_->queue.octets_taken()};
        return {{writes_.look_at_published(), out_->queue.octets_written()}, taken};
    }
    passage incoming() const noexcept { return other_->outgoing(); }
    /// Another pointer to this end, for a `pipe_events` that was given a reference. Any thread.
    pipe_end_ptr shared_from_this() noexcept;

    /// Bookkeeping of the end's owner. The pipe looks at the last two only, in take_dialogue().
    struct owner_slot {
        std::uint32_t socket_index = 0;
        std::uint32_t fair_index = 0;
        std::uint32_t balance_index = 0;
        std::uint32_t fan_index = 0;
        std::uint32_t attach_number = 0;  // counts the pipes its socket took
        std::uint32_t mail_at = 0;        // where its mailbox has the command to attach it; guarded by that
        bool is_attached = false;
        bool is_ending = false;           // the other end was closed: read what is left, write nothing more
        bool is_held_back = false;        // XPUB: until its application has read some of
        bool is_named_here = false;       // a ROUTER's: by its application
        std::uint32_t unread_frames = 0;  // what came from here
        std::string routing_id;           // how a ROUTER, REP or STREAM addresses this peer
        std::shared_ptr<const std::string>
            endpoint;  // what the application bound or connected to; null is none
        std::uint64_t subscriber_number = 0;
        std::uint64_t beyond_mark = 0;  // octets written although the mark was reached, since it last was not
        std::uint32_t taken_before = 0;  // messages, their last digits, when the borrower looked last
        std::uint32_t written_before = 0;
    } slot;

    // Made by make_pipe() only.
    pipe_end() = default;
    ~pipe_end();
    pipe_end(const pipe_end &) = delete;
    pipe_end &operator=(const pipe_end &) = delete;

private:
    friend class pipe;
    friend class writing;

    // The facts that write_policy is told.
    struct answer_facts;
    struct publish_facts;
    struct body_facts;

    void publish_in_stream(bool may_write) noexcept;
    void publish_in_place(bool may_write, std::size_t octets) noexcept;
    connection_port::written write_with_waits(writing &turn, std::size_t octets) noexcept;
    bool end_write(writing &turn, connection_port::written result, bool arms) noexcept;
    void plan_write() noexcept;
    bool wakes_by_writing() noexcept;
    bool write_on_this_thread(connection_port::occasion when, bool arms, bool is_alone = false) noexcept;
    /// The other end is a connection that can write, just now.
    bool is_served() const noexcept { return out_->server.load(std::memory_order_relaxed) != nullptr; }
    /// To write what this end publishes.
    writing try_take_turn() noexcept { return writing(out_->turn.try_take() ? other_ : nullptr); }
    void note_sleeper() noexcept;
    void fence_publish() noexcept;
    void hear_of_returned() noexcept { writes_.hear(out_->returned.load(std::memory_order_acquire)); }
    std::uint64_t write_mark() const noexcept { return out_->hwm.load(std::memory_order_relaxed); }
    void return_due_credit() noexcept;
    void return_credit() noexcept;
    void put_off_return() noexcept;
    error write_conflated(byte_span body) noexcept;
    void publish_conflated() noexcept;
    bool read_conflated(frame_view &out) noexcept;
    error write_frames(byte_span frames) noexcept;
    bool read_slow(frame_view &out) noexcept;
    bool has_conflated_unpublished() const noexcept;
    void note_large_taken(std::size_t octets) noexcept {
        const std::uint64_t taken = in_->large_taken.load(std::memory_order_relaxed) + octets;
        in_->large_taken.store(taken, std::memory_order_relaxed);
        reads_.note_large(taken);
    }
    void note_taken(std::uint64_t messages) noexcept {
        if (__builtin_expect(reads_.take(messages), 0))
            return_due_credit();
    }

    std::weak_ptr<pipe> whole_;  // the object that both ends live in
    pipe_direction *out_ = nullptr;
    pipe_direction *in_ = nullptr;
    pipe_end *other_ = nullptr;
    conflated_slot *conflated_out_ = nullptr;
    conflated_slot *conflated_in_ = nullptr;
    std::atomic<pipe_events *> events_{nullptr};  // called by the other end
    std::shared_ptr<pipe_events> events_owner_;

    writers_account writes_;
    std::uint64_t short_until_ = 0;          // write_short() as long as less was written
    std::uint64_t octets_rolled_back_ = 0;   // between sockets
    std::uint64_t octets_by_reference_ = 0;  // bodies that nobody copies, with those rolled back
    std::uint64_t write_due_ = 1;            // the sender writes for itself when so many are written
    std::uint64_t write_planned_ = 0;        // messages written when that was set
    std::uint64_t octets_planned_ = 0;       // octets written, without those by reference, at that time
    std::uint64_t octets_each_ = 0;          // of a message, on average, in the batch before that
    std::uint64_t next_backlog_check_ = 0;   // is_backlog_check_due() from here on
    std::uint32_t publishes_since_wake_ = 0;
    std::uint32_t taken_at_wake_ =
        0;                // the last digits of what was taken when a message found a sleeper last
    bool fences_ = true;  // as out_->writer_fences: few publishes for each wake-up, each with a fence
    bool is_closed_ = false;
    bool has_said_hello_ = false;  // and no gone since then
    std::uint8_t news_said_ = 0;   // without the first hello, as out_->news_taken
    end_kind other_kind_ = end_kind::socket;
    burst_habit burst_habit_;
    time_point full_at_{};  // after a write of this thread
    writing in_place_;      // held from write_last_large() to publish()
    pace *pace_ = nullptr;
    std::size_t large_unpublished_ = 0;  // octets of large bodies
    std::uint64_t large_published_ = 0;  // as out_->large_taken
    readers_account reads_;
};

struct pipe_ends {
    pipe_end_ptr first;
    pipe_end_ptr second;
};
/// Throws bad_alloc.
pipe_ends make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options);

inline bool pipe_end::has_credit() noexcept {
    const std::uint64_t mark = write_mark();
    if (writes_.has_room(mark))
        return true;
    hear_of_returned();
    return writes_.has_room(mark);
}

inline error pipe_end::write(std::uint8_t flags, byte_span body) noexcept {
    if (__builtin_expect(conflated_out_ && !(flags & frame_flag::command), 0))
        return write_conflated(body);
    const error e = out_->queue.write(flags, body);
    if (__builtin_expect(body.size() >= counted_in_octets_from, 0) && !failed(e))
        large_unpublished_ += body.size();
    if (!failed(e) && !(flags & (frame_flag::more | frame_flag::command)))
        writes_.write(1);
    return e;
}

[[gnu::always_inline]] inline void pipe_end::publish(bool may_write) noexcept {
    out_->queue.publish();
    writes_.publish();
    if (__builtin_expect(conflated_out_ != nullptr, 0))
        publish_conflated();
    ++publishes_since_wake_;
    if (__builtin_expect(writes_.written() >= write_due_ || large_unpublished_ > 0, 0))
        publish_in_stream(may_write);
    if (__builtin_expect(fences_, 0))
        fence_publish();
    else
        light_fence();
    if (__builtin_expect(out_->reader_armed.load(std::memory_order_relaxed), 0))
        wake_reader(may_write);
}

[[gnu::always_inline]] inline pipe_end::at_once pipe_end::write_at_once(byte_span body) noexcept {
    if (__builtin_expect(!may_write_short(), 0) || !out_->queue.write_short(body))
        return at_once::refused;
    writes_.write_at_once();
    ++publishes_since_wake_;
    light_fence();
    return __builtin_expect(out_->reader_armed.load(std::memory_order_relaxed), 0) ? at_once::sent_needs_wake
                                                                                   : at_once::done;
}

[[gnu::always_inline]] inline bool pipe_end::write_short(byte_span body) noexcept {
    const at_once result = write_at_once(body);
    if (__builtin_expect(result == at_once::sent_needs_wake, 0))
        wake_reader(true);
    return result != at_once::refused;
}

inline bool pipe_end::read(frame_view &out) noexcept {
    if (__builtin_expect(!in_->queue.read(out), 0))
        return read_slow(out);
    if (__builtin_expect(out.size >= counted_in_octets_from, 0))
        note_large_taken(out.size);
    if (!(out.flags & (frame_flag::more | frame_flag::command)))
        note_taken(1);
    return true;
}

[[gnu::always_inline]] inline bool pipe_end::read_short(short_frame &out) noexcept {
    if (!in_->queue.read_short(out))
        return false;
    note_taken(1);
    return true;
}

[[gnu::always_inline]] inline bool pipe_end::read_at_once(short_frame &out, std::size_t capacity) noexcept {
    if (__builtin_expect(!reads_.may_take_at_once(), 0) || !in_->queue.read_at_once(out, capacity))
        return false;
    reads_.take_at_once();
    return true;
}

inline bool pipe_end::has_unpublished() const noexcept {
    return out_->queue.has_unpublished() || (conflated_out_ && has_conflated_unpublished());
}

inline bool writing::give() noexcept { return std::exchange(end_, nullptr)->in_->turn.give(); }

inline bool writing::is_claimed() const noexcept { return end_->in_->turn.is_claimed_by_end(); }

inline bool writing::has_input() noexcept { return end_->has_input(); }

inline std::uint64_t writing::messages_taken() const noexcept { return end_->reads_.taken(); }

inline void writing::expect_growth(std::size_t octets) noexcept {
    end_->in_->wire_growth.store(static_cast<std::uint32_t>(octets), std::memory_order_relaxed);
}
inline void writing::return_due_credit() noexcept { end_->return_due_credit(); }

inline void writing::arm_reader() noexcept { end_->arm_reader(); }

inline bool writing::has_read_in_place() const noexcept { return end_->in_->queue.has_read_in_place(); }

inline void writing::copy_rest() noexcept {
    end_->in_->queue.copy_rest();
    if (connection_port *const io = server())
        io->copy_rest();
}

inline void writing::serve(connection_port &io) noexcept {
    end_->in_->server.store(&io, std::memory_order_relaxed);
}

inline connection_port *writing::server() const noexcept {
    return end_->in_->server.load(std::memory_order_relaxed);
}

}  // namespace zlink
