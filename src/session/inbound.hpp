// The reading half of a connection: reads the stream, walks the frames, and gives messages to the
// pipe.
//
// Reads:    one at a time, into a scratch block. Frames are walked, not copied: a well filled block
//           is handed to the pipe as it is, a small read is copied. A frame known to be large is
//           read into memory of its own. Where the wire is not the queue, the block is decoded in
//           place first: see zmtp/framing.hpp.
// Pauses:   what exceeds the receiver's mark stays here unpublished. Then is_paused(), and resume()
//           goes on once there is credit. With nothing to keep back it reads on at the mark, too:
//           most often it is the end of the stream that comes next, and who sends to this peer has
//           to know of it. A message that does not end is bounded where one part is.
// Commands: go to the conversation, which is the loop's. A thread that reads without it pauses at
//           the first command.
// Fails:    once, with failure(). Nothing is read or delivered afterwards.
// Threads:  those of the reading half, one at a time: lease_keeper says whose it is.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/wipe.hpp"
#include "memory/chunk.hpp"
#include "pipe/pipe.hpp"
#include "pipe/reading.hpp"
#include "session/body_offer.hpp"
#include "session/connection_environment.hpp"
#include "session/skipped_frame.hpp"
#include "session/subscription_sieve.hpp"
#include "transport/transport.hpp"
#include "zmtp/conversation.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/framing.hpp"
#include "zmtp/large_frame.hpp"

namespace zlink {

class inbound final : public reading_half {
public:
    // More than a local socket or a ring holds, and a tcp socket as systems set it up.
    static constexpr std::size_t most_octets_at_the_end = 8 * 1024 * 1024;

    /// Both outlive it.
    inbound(const connection_environment &environment, stream &bytes) noexcept;
    inbound(const inbound &) = delete;
    inbound &operator=(const inbound &) = delete;
    ~inbound();

    /// From here on what is read is traffic, for this pipe, which outlives it too.
    void open(pipe_end &pipe) noexcept;
    /// So many messages are missing in front of the next one; 0 is an unknown number. False when
    /// that cannot be, and the connection has failed.
    bool note_gap(std::uint64_t lost) noexcept;
    /// To be called before anything is read then. Null where the wire is the queue.
    void set_decoder(std::unique_ptr<frame_decoder> decoder) noexcept;
    /// The traffic that came with the end of the handshake, in the block that it was read into.
    void begin(chunk &block, byte_span first, conversation &peer) noexcept;

    /// Puts octets of the handshake where a read would. Returns them there; none for want of
    /// memory.
    byte_span put(block_ref &scratch, byte_span octets) noexcept;
    /// Octets of the handshake, where they were read: what has been said in a handshake may have
    /// been a password.
    static void wipe(byte_span octets) noexcept {
        wipe_octets({const_cast<std::uint8_t *>(octets.data()), octets.size()});
    }

    struct found {
        std::size_t octets = 0;
        bool has_filled_room = false;  // there may be more
        byte_span handshake{};         // before open(): octets for the peer, in the scratch block
    };
    /// Reads once, without blocking. Nothing is found in a stream that is drained, or dead. On the
    /// loop's thread.
    found read(block_ref &scratch, conversation &peer) noexcept { return read_with(&peer, scratch); }
    /// Delivers what was kept back, as far as there is room. True when that was all. On the loop's
    /// thread.
    bool resume(conversation &peer) noexcept { return resume_with(&peer); }
    /// The peer, which tells no subscriptions, takes all.
    void subscribe_to_all() noexcept;

    bool is_paused() const noexcept { return flow_ != flow::going; }
    /// Whether a paused one has room for more: the rest of a message always has.
    bool may_deliver() noexcept {
        return !has_receiver() || is_inside_message() || may_exceed_mark() || pipe_->has_credit();
    }
    const std::optional<break_reason> &failure() const noexcept { return failure_; }
    /// Counts the messages among frames that have come, and that nobody gets: the connection ends.
    /// The first of them that end, so many, are counted elsewhere.
    void count_left(byte_span frames, std::uint64_t counted = 0) const noexcept;
    /// Whether the pipe got a message of the peer's application.
    bool has_delivered() const noexcept { return has_delivered_; }

    /// Nobody takes messages any more: from here on they are thrown away as they come.
    void discard() noexcept;
    bool discards() const noexcept { return taking_ == taking::nothing; }
    /// The mark holds back no more what this connection brings, up to a limit that later ones of
    /// the same pipe share with it.
    void exceed_mark() noexcept;

    // ---- on the socket's thread, by a `reading` ----

    /// To be called before the lease is granted.
    void note_lease() noexcept { last_look_.begin(stream_.holds_input()); }
    /// One read, or what was kept back. False when the loop's thread has to go on.
    bool read_now(block_ref &scratch) noexcept override;
    bool has_read() const noexcept override { return last_look_.has_found(); }
    bool expects_more() const noexcept override { return is_paused() || last_look_.may_find_more(); }
    bool expects_large() const noexcept override { return has_large() || expects_large_; }
    void offer(std::span<std::uint8_t> to) noexcept override { offer_.open(to); }
    bool fills_offer() const noexcept override { return unfed_ && unfed_->large.is_elsewhere(); }
    offer_end withdraw_offer() noexcept override;

private:
    /// A shorter range is copied, behind what was copied before.
    static constexpr std::size_t held_from = 4096;
    static constexpr std::size_t most_octets_beyond_mark =
        most_octets_at_the_end;  // octets, and what was read with the last of them

    enum class flow : std::uint8_t {
        going,
        at_mark,     // of the receiver
        at_command,  // and without the peer
    };
    /// The part of what comes that is taken for the receiver.
    enum class taking : std::uint8_t {
        up_to_mark,
        beyond_mark,  // the connection is about to end
        nothing       // nobody is there any more: it is thrown away
    };
    /// The last look of the socket's thread: whether it has found something, and whether the next
    /// one is likely to.
    class last_look {
    public:
        /// There is none yet.
        void begin(bool may_find_something) noexcept { may_find_more_ = may_find_something; }
        void note_read(std::size_t octets, bool may_find_more) noexcept {
            has_found_ = octets > 0;
            may_find_more_ = may_find_more;
        }
        /// Nothing was read: what was kept back has been delivered, or there was no room for it.
        void note_kept_back(bool is_delivered) noexcept { has_found_ = is_delivered; }

        bool has_found() const noexcept { return has_found_; }
        bool may_find_more() const noexcept { return may_find_more_; }

    private:
        bool has_found_ = false;
        bool may_find_more_ = false;
    };
    /// The places that one read goes to.
    struct places {
        std::array<iovec, 2> ranges;
        std::size_t count = 0;
        std::size_t large_room = 0;        // octets, of the frame under way
        std::size_t room = 0;              // octets behind it
        bool is_of_decoder = false;        // which puts that frame together
        std::uint8_t *round_to = nullptr;  // where the first range is copied to
    };
    struct held_range {
        block_ref owner;
        const std::uint8_t *begin;
        const std::uint8_t *end;
        std::size_t room = 0;  // octets behind the end, where nobody else has the memory

        std::uint8_t *owner_end() const noexcept {
            auto *const data = static_cast<chunk *>(owner.get())->data();
            return data + (end - data);
        }
    };

    /// Octets that came, and are not with the pipe.
    struct unfed {
        std::vector<held_range> held;    // a few
        std::vector<std::uint8_t> tail;  // a partial frame
        large_frame large;
    };
    bool has_large() const noexcept { return unfed_ && unfed_->large.is_under_way(); }
    bool has_held() const noexcept { return unfed_ && !unfed_->held.empty(); }
    bool may_keep() noexcept;

    found read_with(conversation *peer, block_ref &scratch) noexcept;
    chunk *make_room(block_ref &scratch, std::size_t size) noexcept;
    bool choose_places(places &out, std::span<std::uint8_t> free) noexcept;
    void go_round(places &out, const std::uint8_t *body, std::span<std::uint8_t> free) noexcept;
    void take_large(conversation *peer) noexcept;
    void feed_frames(conversation *peer) noexcept;
    void feed_decoded(conversation *peer, chunk &block, std::uint8_t *out, std::size_t kept,
                      byte_span in) noexcept;
    void feed_block(conversation *peer, chunk &block, byte_span in) noexcept;
    bool resume_held(conversation *peer) noexcept;
    bool resume_with(conversation *peer) noexcept;
    void feed(conversation *peer, block *owner, bool may_share, byte_span in) noexcept;
    const std::uint8_t *take_traffic(conversation *peer, block *owner, bool may_share, byte_span in) noexcept;
    bool take_command(conversation &peer, byte_span body) noexcept;
    std::size_t deliver(block *owner, bool may_share, const std::uint8_t *p, const walk_result &walked,
                        bool continues) noexcept;
    void count_thrown_away(std::uint64_t messages) const noexcept;
    void count_left(byte_span frames, std::uint64_t counted, bool &is_inside) const noexcept;
    std::size_t sift(byte_span frames) noexcept;
    bool sift_frame(bool has_more, byte_span body) noexcept;
    bool ends_unwanted(bool has_more, byte_span body) const noexcept;
    void deliver_offered() noexcept;
    bool suits_offer(bool is_sockets_thread, const frame_header &frame) const noexcept;
    bool pass_subscription(bool is_subscribe, byte_span topic) noexcept;
    bool is_wanted(byte_span body) const noexcept;
    void keep_tail(bool is_sockets_thread, byte_span frame, const frame_header &header) noexcept;
    bool skip_rest(const frame_header &frame, std::size_t have) noexcept;
    void hold(block *owner, bool may_share, byte_span in) noexcept;
    bool count_unfinished(std::uint64_t octets) noexcept;
    void tell_decoder_what_is_taken() noexcept;
    void note_beyond_mark(std::size_t octets) noexcept {
        if (taking_ == taking::beyond_mark)
            pipe_->slot.beyond_mark += octets;
    }
    bool is_going_on() const noexcept { return !failure_; }
    bool is_too_large() const noexcept { return failure_ && failure_->system == error::message_too_big; }
    bool is_short_of_memory() const noexcept { return failure_ && failure_->system == error::no_memory; }
    protocol_error fault_of_frame() const noexcept {
        const protocol_error known = decoder_ ? decoder_->fault() : 0;
        return known ? known : protocol_errors::unspecified;
    }
    /// Messages, or some of them, go to somebody who may take them.
    bool has_receiver() const noexcept { return taking_ != taking::nothing && receives_ != reception::none; }
    /// Whether the pipe has frames of a message that goes on.
    bool is_inside_message() const noexcept {
        return receives_ == reception::subscriptions ? sieve_.is_inside() : in_message_;
    }
    bool may_exceed_mark() const noexcept {
        return taking_ == taking::beyond_mark && pipe_->slot.beyond_mark < most_octets_beyond_mark;
    }
    void fail(break_reason why) noexcept;
    void fail_as_too_large() noexcept;
    void fail(error system) noexcept;

    const connection_environment &environment_;
    stream &stream_;
    pipe_end *pipe_ = nullptr;
    std::unique_ptr<frame_decoder> decoder_;
    walk_limits limits_;
    const std::uint64_t most_unfinished_;
    std::optional<break_reason> failure_;
    std::unique_ptr<unfed> unfed_;  // from the first time on that there are such

    // Octets of the message under way, with what stands between its parts.
    std::uint64_t unfinished_ = 0;

    // The small members fill the octets that the one before them leaves free.
    [[no_unique_address]] skipped_frame skipped_;
    const reception receives_;
    flow flow_ = flow::going;
    taking taking_ = taking::up_to_mark;
    last_look last_look_;
    subscription_sieve sieve_;  // of one that receives nothing else

    [[no_unique_address]] body_offer offer_;  // by the borrower
    // Facts of what the peer has sent so far, each of which may hold without the others.
    bool in_message_ = false;     // it ends within one
    bool has_delivered_ = false;  // messages, not only subscriptions
    bool gets_commands_ = false;  // between messages
    bool expects_large_ = false;  // the last frame was a large one: read little beside the next
};

}  // namespace zlink
