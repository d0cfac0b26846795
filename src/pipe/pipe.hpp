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
//           that it holds, or to a `reading`.
// Owns:     both ends live in one object that the last of the two pointers destroys.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "pipe/account.hpp"
#include "pipe/flow/lease_policy.hpp"
#include "pipe/pipe_direction.hpp"
#include "pipe/receiver.hpp"
#include "pipe/sender.hpp"
#include "pipe/writing.hpp"

namespace zlink {

class pipe;
using pipe_end_ptr = std::shared_ptr<pipe_end>;

/// Why a socket wants to be rid of a peer.
enum class cut_reason : std::uint8_t { asked_for, too_slow };

/// Tells the owner of one end of the other. Called on the other end's thread, from the middle of
/// what it does; must not block, and not call that end. An end that no thread looks after may be
/// used from there, as from any other thread.
class pipe_events {
public:
    virtual ~pipe_events() = default;
    // messages were published to an armed reader
    virtual void on_readable(pipe_end &end) noexcept = 0;
    virtual void on_writable(pipe_end &end) noexcept = 0;  // credit came back to an armed writer
    // the other end was closed; published messages remain readable
    virtual void on_closed(pipe_end &end) noexcept = 0;
    /// The other end wants to hear of each message that is taken from here on: answer_drain().
    virtual void on_drain_awaited(pipe_end &end) noexcept { (void)end; }
    /// The other end had no room for a message, the first time since note_slow() was last undone.
    virtual void on_slow(pipe_end &end) noexcept { (void)end; }
    /// The other end wants to be rid of the connection here.
    virtual void on_cut(pipe_end &end, cut_reason why) noexcept {
        (void)end;
        (void)why;
    }
};

/// One end of a pipe. To a pattern it is a `sender`, a `receiver`, or both.
class alignas(64) pipe_end : public sender, public receiver {
public:
    // ---- a connection or a session at this end ----

    /// The messages in the pipe are taken in turns, from the first on. Empty when the other end is
    /// writing: it calls on_readable when it has done.
    writing take_turn() noexcept { return writing(in_->turn.take_or_request() ? this : nullptr); }
    /// Whether a thread is writing what this end reads.
    bool is_being_written() const noexcept { return in_->turn.is_held(); }
    /// The turn for good, to end with: the other end does not write any more. Empty while it does:
    /// it calls on_readable when it has done, and the turn is to be claimed again then.
    writing claim_turn() noexcept {
        if (!in_->turn.claim()) {
            wake_other_end();  // who holds it may be waiting for room
            return {};
        }
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
    /// Says whether a peer is there, behind its handshake, and all that was to be published first.
    void note_peer(bool is_there) noexcept;
    /// Says whether the commands of the other end are wanted. From off to on with what guards the
    /// state locked, after it was read.
    void follow(bool on) noexcept { in_->is_followed.store(on, std::memory_order_relaxed); }
    /// Says whether the peer that is there is to be told how many messages there was no room for.
    /// In front of say_hello(), before anything is taken for it.
    void take_gaps(bool wanted) noexcept;
    /// Whether more messages are under way than the mark allows.
    bool is_beyond_mark() const noexcept;

    /// Tells a writer that awaits it that all that the pipe held has gone out.
    using receiver::tell_drained;
    /// Returns credit for each message from now on, as long as that is awaited.
    void answer_drain() noexcept { return_credit(); }

    // ---- a socket at this end, of both ways ----

    /// Says whether this end wants to be told how many messages there was no room for.
    void want_gaps(bool wanted) noexcept {
        if (wanted)
            (void)in_->note(pipe_direction::gaps_wanted);
        else
            in_->forget(pipe_direction::gaps_wanted);
    }
    /// Whether messages went both ways since the last call.
    bool take_dialogue() noexcept { return slot.goes_both_ways.take(reads_.taken(), writes_.written()); }
    /// The connection at the other end, to be read on this thread; empty when it is not leased.
    reading begin_use() noexcept {
        connection_port *const port =
            out_->lease.begin_use() ? out_->server.load(std::memory_order_relaxed) : nullptr;
        return port ? reading(*this, *port) : reading();
    }

    /// Whether a peer is there, at the far end or beyond the connection there.
    bool has_peer() const noexcept {
        return in_->has_peer.load(std::memory_order_seq_cst) && !is_peer_closed();
    }
    /// Whether a peer is there that is to blame for a full pipe: it had room, and did not keep it.
    bool is_peer_slow() const noexcept;
    /// Has on_writable called, once, when all has gone out, or the other end has taken another
    /// message. To be called before a look at is_all_out(), and ended by end_drain().
    void await_drain() noexcept;
    void end_drain() noexcept;
    /// Whether everything that was published was taken, and a connection that is there has written
    /// it.
    bool is_all_out() const noexcept;
    /// Has the connection at the other end cut, if there is one.
    void cut_peer(cut_reason why) noexcept;
    /// Has the owner of the other end told that there was no room for a message.
    void tell_slow() noexcept;
    /// Has on_readable called once has_peer() may say something else. Then look again.
    void await_peer() noexcept { in_->is_peer_awaited.store(true, std::memory_order_seq_cst); }

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
    /// Changes this end's share of the mark in octets, which is the sum of what both ends have set;
    /// 0 is none. A message is let in while less waits. These throw bad_alloc.
    void set_write_octets(std::uint64_t octets);
    void set_read_octets(std::uint64_t octets);
    /// Set once, by the end's owner, before it arms anything.
    void set_events(std::shared_ptr<pipe_events> events) noexcept;
    /// Whether this pipe keeps the newest message only. Such a pipe is read frame by frame, never
    /// gathered.
    bool is_conflating() const noexcept { return conflated_out_ != nullptr; }
    /// The far end, to be compared with; it belongs to somebody else.
    const pipe_end &other() const noexcept { return *other_; }
    /// The passage of what went out of this end, and of what came to it. Any thread. Where the
    /// newest message alone is kept, octets of commands count and no others.
    passage outgoing() const noexcept;
    passage incoming() const noexcept { return other_->outgoing(); }
    /// The most that was seen under way: by a writer that found no room, or that looked how far it
    /// is ahead; by a reader at each step of its credit; and now. Any thread.
    amount highest_outgoing() const noexcept;
    amount highest_incoming() const noexcept { return other_->highest_outgoing(); }
    /// Any thread.
    void note_depth() noexcept;
    /// There was no room for a message to the other end, which does not get it. The owner's thread;
    /// any may ask how many there were.
    void note_drop() noexcept { slot.dropped.store(dropped() + 1, std::memory_order_relaxed); }
    std::uint64_t dropped() const noexcept { return slot.dropped.load(std::memory_order_relaxed); }
    /// Whether a peer is there, and what waits for it reaches a mark. Any thread.
    bool is_peer_full() const noexcept;
    /// The queue to the other end was full. True for who says so first, until less than half of
    /// each mark waits: until end_slow() finds that, or another peer is there. forget_slow() has it
    /// said once more. Any thread.
    bool note_slow() const noexcept { return !is_slow() && !out_->note(pipe_direction::is_slow); }
    bool is_slow() const noexcept { return out_->has_noted(pipe_direction::is_slow); }
    void forget_slow() const noexcept { out_->forget(pipe_direction::is_slow); }
    /// Whether it is over.
    bool end_slow() const noexcept;
    /// This end is closed next: another peer has the name of the one behind the other end.
    void note_taken_over() const noexcept { (void)out_->note(pipe_direction::is_taken_over); }
    /// Whether the other end said so; once that is closed.
    bool was_taken_over() const noexcept { return in_->has_noted(pipe_direction::is_taken_over); }
    /// Messages that nobody reads any more: those that came, and, where the other end was closed as
    /// well, those that went. Each is told once, at one of both ends. After close(), on its thread.
    struct lost_messages {
        std::uint64_t unread = 0;
        std::uint64_t untaken = 0;
    };
    lost_messages take_lost() noexcept;
    /// Before close(): what has come is still read, and take_lost() of this end comes behind that.
    void read_on() noexcept { in_->is_read_on.store(true, std::memory_order_relaxed); }
    /// Another pointer to this end, for a `pipe_events` that was given a reference. Any thread.
    pipe_end_ptr shared_from_this() noexcept;

    /// Bookkeeping of the end's owner. The pipe looks at the last only, in take_dialogue().
    struct owner_slot {
        std::uint32_t socket_index = 0;
        std::uint32_t fair_index = 0;
        std::uint32_t balance_index = 0;
        std::uint32_t fan_index = 0;
        std::uint32_t attach_number = 0;  // counts the pipes its socket took
        // where its mailbox has the command to attach it; guarded by that
        std::uint32_t mail_at = 0;
        /// Its life at its socket.
        enum class phase : std::uint8_t {
            untaken,
            gone,
            attached,
            ending,  // the other end was closed: read what is left, write nothing more
        } at = phase::untaken;
        bool is_held_back = false;        // XPUB: until its application has read some of
        bool is_named_here = false;       // a ROUTER's: by its application
        std::uint32_t unread_frames = 0;  // what came from here
        std::string routing_id;           // how a ROUTER, REP or STREAM addresses this peer
        std::shared_ptr<const std::string>
            endpoint;  // what the application bound or connected to; null is none
        std::uint64_t subscriber_number = 0;
        // octets written although the mark was reached, since it last was not
        std::uint64_t beyond_mark = 0;
        // messages that there was no room for; any thread may look
        std::atomic<std::uint64_t> dropped{0};
        // of the peer, at a publisher; any thread may look
        std::atomic<std::uint32_t> subscriptions{0};
        // whole messages that were read ahead from here, and that nobody can receive any more; any
        // thread may look
        std::atomic<std::uint32_t> read_in_vain{0};
        lease_policy::dialogue goes_both_ways;  // when the borrower looked last

        bool is_attached() const noexcept { return at >= phase::attached; }
        bool is_ending() const noexcept { return at == phase::ending; }
        void note_attached() noexcept { at = phase::attached; }
        /// One that has gone does not come back by this.
        void note_ending() noexcept {
            if (at != phase::gone)
                at = phase::ending;
        }
        void note_gone() noexcept { at = phase::gone; }
        /// Nobody can receive what begins with this frame any more. The count stands still at its
        /// largest value: it may not fall.
        void note_in_vain(const frame_view &frame) noexcept {
            const std::uint32_t before = read_in_vain.load(std::memory_order_relaxed);
            if (!frame.is_command() && !frame.has_more() && before != UINT32_MAX)
                read_in_vain.store(before + 1, std::memory_order_relaxed);
        }
    } slot;

    // Made by make_pipe() only.
    pipe_end() = default;
    ~pipe_end();
    pipe_end(const pipe_end &) = delete;
    pipe_end &operator=(const pipe_end &) = delete;

private:
    friend class pipe;
    friend class sender;
    friend class receiver;
    friend class reading;

    void end_use(bool keep) noexcept;
    /// The peers of a pipe, told apart by the news of them.
    static constexpr std::uint8_t gap_tag(unsigned news) noexcept {
        constexpr unsigned is_tag = 0x80;
        return static_cast<std::uint8_t>(news | is_tag);
    }
    std::uint64_t claim(std::uint64_t published) noexcept;
    bool is_full(std::uint64_t returned) const noexcept;

    highest_seen &highest() const noexcept;

    pipe *whole_ = nullptr;  // the object that both ends live in
    pipe_end *other_ = nullptr;
    std::atomic<pipe_events *> events_{nullptr};  // called by the other end
    std::shared_ptr<pipe_events> events_owner_;
    std::atomic<std::uint64_t> settled_{0};  // see claim()
    // Credit returned here, in messages, from which on the other end has had room since a peer is
    // here. Written by note_peer().
    std::atomic<std::uint64_t> has_given_room_at_{0};
};

struct pipe_ends {
    pipe_end_ptr first;
    pipe_end_ptr second;
};
/// Throws bad_alloc.
pipe_ends make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options);

inline reading::reading(pipe_end &sockets, connection_port &port) noexcept
    : end_(&sockets), port_(&port), half_(&port.leased_half()) {}
inline void reading::end(bool keep) noexcept { std::exchange(end_, nullptr)->end_use(keep); }

inline pipe_end &sender::self() noexcept { return static_cast<pipe_end &>(*this); }
inline const pipe_end &sender::self() const noexcept { return static_cast<const pipe_end &>(*this); }
inline pipe_end &sender::other() const noexcept { return *self().other_; }
inline pipe_end &receiver::self() noexcept { return static_cast<pipe_end &>(*this); }
inline pipe_end &receiver::other() const noexcept { return *static_cast<const pipe_end &>(*this).other_; }

inline pipe_direction &receiver::back() const noexcept { return *static_cast<const pipe_end &>(*this).out_; }

inline void receiver::note_use() noexcept { back().lease.note_use(); }
inline bool receiver::is_lease_over() const noexcept { return back().lease.is_over(); }
inline bool receiver::is_leased() const noexcept { return back().lease.is_out(); }
inline bool receiver::is_recalled() const noexcept { return back().lease.is_recalled(); }
inline bool receiver::has_untaken() const noexcept { return other().writes_.published() != reads_.taken(); }

}  // namespace zlink
