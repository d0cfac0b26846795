// The driver: performs the peer machine's actions on one live stream, and moves frames between the stream and a pipe.
//
// Out:      `outbound`, from the loop's thread or from that of the sender.
// In:       one read per readiness into the loop's scratch block. Frames are walked, not copied: a well filled block is
//           handed to the pipe as it is, a small read is copied. A frame known to be large is read into memory of its own. Where the wire
//           is not the queue, the block is decoded in place first: see zmtp/framing.hpp.
// Pressure: what exceeds the receiver's mark stays here unpublished, and nothing more is read until credit returns. A message that does
//           not end is bounded where one part is.
// Breaks:   when writing fails, what the peer sent before it went is still read and delivered, also beyond the mark. Where earlier
//           connections have brought much beyond it already, the rest waits for the receiver, and so does the end of the connection.
// Lending:  the reading half goes to the thread of the socket while that thread waits often: see io_turn.hpp. There it handles
//           message frames only; a command, the end of the stream and every failure end the lease first.
// Threads:  the loop's, but for what is said in `io_turn`.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "core/chunk.hpp"
#include "core/settings.hpp"
#include "core/subscription_set.hpp"
#include "core/tuning.hpp"
#include "pipe/pipe.hpp"
#include "reactor/loop.hpp"
#include "session/large_frame.hpp"
#include "session/outbound.hpp"
#include "session/subscription_sieve.hpp"
#include "transport/transport.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/peer.hpp"

namespace zlink {

class connection;

/// Why a connection ended.
struct break_reason {
    bool was_established = false;
    error system = error::none;  // what the stream said, or none
    failure_kind failure = failure_kind::none;
    protocol_error detail = 0;
    bool may_retry = true;
};

class connection_host {
public:
    virtual ~connection_host() = default;
    /// The handshake is over. Returns the pipe to serve; null ends the connection.
    virtual pipe_end_ptr on_established(connection &which) noexcept = 0;
    /// The connection is dead; it calls nobody afterwards. Destroy it later, not from inside this call.
    virtual void on_broken(connection &which, const break_reason &why) noexcept = 0;
    /// Everything the pipe held has been written.
    virtual void on_drained(connection &which) noexcept = 0;
    /// Call look() before the loop sleeps, behind its fence.
    virtual void want_look() noexcept = 0;
    /// Call work() in the loop's next turn.
    virtual void want_turn() noexcept = 0;
};

struct connection_environment {
    loop &io;
    const settings &options;
    const batching &sizes;
    std::shared_ptr<chunk_pool> pool;
    std::shared_ptr<subscription_set> subscriptions;  // of SUB and XSUB, else null
};

class connection final : private stream_events, private io_turn {
public:
    connection(const connection_environment &environment, std::unique_ptr<stream> bytes, bool is_server,
               connection_host &host);
    ~connection() override;

    void start() noexcept;
    /// The pipe was there before the connection: subscriptions are sent from the set, not from the pipe.
    void replay_subscriptions() noexcept { replays_ = true; }
    /// Goes on with whatever can be done: after the pipe became readable or writable, or want_turn().
    void work() noexcept;
    void look() noexcept;
    /// Nobody takes what arrives any more: it is read, for the sake of commands and the end of the stream, and thrown
    /// away.
    void discard_input() noexcept;
    /// To be called once everything is written and nobody takes what arrives: says so to the peer, so that it reads to the
    /// end before the stream is closed under it. False when there is no need to wait for that.
    bool finish_writing() noexcept;
    /// Octets written that may be lost if the stream is closed now.
    std::size_t unconfirmed() noexcept { return stream_->unconfirmed(); }
    /// Ends: no other thread reads or writes from here on. False while one does: it has work asked for when it leaves, then this is
    /// to be called again. Once it is true only destruction may follow, and nothing else may come before it.
    /// `drops_unread`: reads what lies there, because a stream closed with unread input may lose what was written last.
    [[nodiscard]] bool let_go(bool drops_unread) noexcept;
    /// Whether the pipe got a message of the peer's application.
    bool has_delivered() const noexcept { return has_delivered_; }
    bool is_established() const noexcept { return peer_.is_established(); }
    /// Nothing is left to write, and no other thread reads.
    bool is_drained() noexcept;
    stream &bytes() noexcept { return *stream_; }
    peer_info &info() noexcept { return peer_.info(); }

private:
    // More than a local socket or a ring holds, and a tcp socket as systems set it up.
    static constexpr std::size_t most_at_the_end = 8 * 1024 * 1024;
    static constexpr int reads_at_the_end = 1024;
    static constexpr std::size_t most_beyond_mark =
        most_at_the_end;  // octets, and what was read with the last of them
    // Until what a sender may leave that writes for itself is looked after: later, the longer it has done so.
    static constexpr std::chrono::microseconds first_flush_delay{100};
    static constexpr std::chrono::microseconds longest_flush_delay{800};

    struct found {
        std::size_t octets = 0;
        bool has_filled_room = false;  // there may be more
    };
    struct held_range {
        block_ref owner;
        const std::uint8_t *begin;
        const std::uint8_t *end;
    };

    void on_stream_readable() noexcept override;
    void on_stream_writable() noexcept override;
    void on_time() noexcept;

    written write_now(occasion when) noexcept override { return out_.write_now(when); }
    bool is_full() const noexcept override { return out_.is_full(); }
    int descriptor() const noexcept override { return stream_->descriptor(); }
    bool expects_more() const noexcept override { return is_paused_ || has_filled_block_; }
    bool expects_large() const noexcept override { return large_.is_under_way() || expects_large_; }
    bool read_now(block_ref &scratch) noexcept override;
    void offer(std::span<std::uint8_t> to) noexcept override { offered_ = to; }
    bool fills_offer() const noexcept override { return large_.is_elsewhere(); }
    offer_end withdraw_offer() noexcept override;

    std::uint64_t octets_of_stream() const noexcept;
    void write_at(time_point when) noexcept;
    void tend_lease() noexcept;
    bool may_lease_out() noexcept;
    void lease_out() noexcept;
    bool recall_reading() noexcept;
    void take_reading_back() noexcept;
    void watch_lease() noexcept;
    void on_lease_time() noexcept;

    void write() noexcept;

    void read() noexcept;
    found read_once(block_ref &scratch) noexcept;
    void drop_unread() noexcept;
    void read_to_the_end() noexcept;
    chunk *make_room(block_ref &scratch, std::size_t size) noexcept;
    void feed_handshake(byte_span in) noexcept;
    void enter_traffic(byte_span rest, bool takes_all) noexcept;
    void greet_application();
    error say_hello() noexcept;
    void feed(block *owner, bool may_share, const std::uint8_t *begin, const std::uint8_t *end) noexcept;
    const std::uint8_t *take_traffic(block *owner, bool may_share, const std::uint8_t *p,
                                     const std::uint8_t *end) noexcept;
    bool deliver(block *owner, bool may_share, const std::uint8_t *p, const walk_result &walked,
                 bool continues) noexcept;
    bool sift(byte_span frames) noexcept;
    void deliver_offered() noexcept;
    bool suits_offer(const frame_header &frame) const noexcept;
    bool obey(const peer::action &action) noexcept;
    bool pass_subscription(bool is_subscribe, byte_span topic) noexcept;
    bool is_wanted(byte_span body) const noexcept;
    bool keep_tail(const std::uint8_t *p, const std::uint8_t *end, const frame_header &next) noexcept;
    void hold(block *owner, bool may_share, const std::uint8_t *begin, const std::uint8_t *end) noexcept;
    void pause() noexcept;
    void resume_reading() noexcept;
    bool deliver_held() noexcept;
    void discard_from_here() noexcept;
    bool skip_rest(const frame_header &frame, std::size_t have) noexcept;
    bool may_go_on(std::uint64_t octets) noexcept;
    void read_what_is_left() noexcept;
    void begin_to_exceed_mark() noexcept;
    void note_beyond_mark(std::size_t octets) noexcept {
        if (exceeds_mark_)
            pipe_->slot.beyond_mark += octets;
    }
    /// False also when it failed while leased, which nobody was told of yet.
    bool is_going_on() const noexcept { return state_ == state::live && !failure_while_leased_; }
    /// Messages, or some of them, go to somebody who may take them.
    bool has_receiver() const noexcept { return !discards_ && receives_ != reception::none; }
    /// Whether the pipe has frames of a message that goes on.
    bool is_inside_message() const noexcept {
        return receives_ == reception::subscriptions ? sieve_.is_inside() : in_message_;
    }
    bool may_exceed_mark() const noexcept {
        return exceeds_mark_ && pipe_->slot.beyond_mark < most_beyond_mark;
    }
    bool may_deliver() noexcept { return !has_receiver() || may_exceed_mark() || pipe_->has_credit(); }

    void update_timer() noexcept;
    void fail(break_reason why) noexcept;
    void fail(error system) noexcept;
    void report() noexcept;

    connection_environment environment_;
    connection_host &host_;
    std::unique_ptr<stream> stream_;
    peer peer_;
    std::unique_ptr<timer> timer_;
    time_point timer_at_;
    pipe_end_ptr pipe_;

    outbound out_;
    std::unique_ptr<timer> flush_timer_;
    duration flush_delay_ = first_flush_delay;
    time_point deferred_at_{};  // or nothing was left then
    bool replays_ = false;

    // Lending
    bool is_leased_ = false;  // the loop keeps its hands off the stream
    std::unique_ptr<timer> lease_timer_;
    std::uint32_t uses_seen_ = 0;

    // In; the borrower's while it uses the lease
    bool runs_on_socket_thread_ = false;  // read_now() is under way
    bool must_return_lease_ = false;      // with something that only the loop's thread can handle
    std::optional<break_reason> failure_while_leased_;
    bool has_filled_block_ = false;  // by the last read
    bool is_paused_ = false;
    bool exceeds_mark_ = false;  // once writing has failed
    bool discards_ = false;
    bool has_delivered_ = false;  // messages, not only subscriptions
    bool in_message_ = false;
    const reception receives_;
    subscription_sieve sieve_;      // of one that receives nothing else
    std::uint64_t unfinished_ = 0;  // octets of the message under way, with what stands between its parts
    std::uint64_t most_unfinished_ = UINT64_MAX;
    bool expects_large_ = false;  // the last frame was a large one: read little beside the next
    walk_limits limits_;
    std::vector<std::uint8_t> tail_;          // a partial frame
    std::unique_ptr<frame_decoder> decoder_;  // null where the wire is the queue
    large_frame large_;
    std::span<std::uint8_t> offered_;  // for the next body, by the borrower
    bool has_filled_offer_ = false;
    std::uint64_t to_skip_ = 0;     // octets that are still to come of a frame that nobody takes
    std::vector<held_range> held_;  // a few

    enum class state {
        live,
        broken,  // to be reported, once nobody writes any more
        over     // reported, or let go
    } state_ = state::live;
    break_reason reason_;
};

}  // namespace zlink
