// The reading half of a connection. See inbound.hpp.
//
// Map: reading, with the places that octets go to; traffic, which is walked and delivered;
//      subscriptions. What is kept back, and the borrower's memory, is in inbound_kept.cpp.
#include "session/inbound.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "pipe/in_band.hpp"
#include "zmtp/command.hpp"

namespace zlink {

namespace {
// Little, so that most of a large frame that comes next is still to be read, into memory of its
// own.
constexpr std::size_t read_beside_large = 8 * 1024;
// Limits for a large frame. Each read costs a call and an acknowledgement; other connections wait
// for the end of one.
constexpr std::size_t most_octets_in_read = 256 * 1024;
constexpr std::size_t handshake_read = 4 * 1024;

/// The octets that whole messages could be, by the mark and by the size of one; some more where
/// these are very small.
std::uint64_t most_octets_of_message(const settings &options) noexcept {
    constexpr std::uint64_t least_octets = 1024 * 1024;
    constexpr std::uint64_t least_messages = 64;
    constexpr std::uint64_t usual_messages = 1000;
    if (options.most_in_frame() < 0)
        return UINT64_MAX;
    const std::uint64_t messages = options.receive_hwm == 0
                                       ? usual_messages
                                       : std::max<std::uint64_t>(options.receive_hwm, least_messages);
    const auto size = static_cast<std::uint64_t>(options.most_in_frame());
    return size > UINT64_MAX / messages - long_header_size
               ? UINT64_MAX
               : std::max(least_octets, messages * (size + long_header_size));
}

walk_limits limits_of(const settings &options) noexcept {
    walk_limits limits;
    if (options.most_in_frame() >= 0)
        limits.max_body = static_cast<std::uint64_t>(options.most_in_frame());
    // A subscription may be as long as a message.
    if (options.has_subscribers())
        limits.max_command = std::max(limits.max_command, limits.max_body);
    return limits;
}

bool is_subscription(const conversation::action &action) noexcept {
    return action.kind == conversation::action_kind::subscribe ||
           action.kind == conversation::action_kind::cancel;
}

/// The messages that end in what stands here; what is not whole at its end does not count.
/// `of_subscriber`: subscriptions between messages are such, too. `is_inside`: it begins, and then
/// ends, within a message.
std::uint64_t messages_in(byte_span frames, bool of_subscriber, bool &is_inside) noexcept {
    std::uint64_t messages = 0;
    for (frame_header header; get_frame_header(frames.data(), frames.size(), header);) {
        if (header.body_size > frames.size() - header.header_size)
            break;
        const byte_span body = frames.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        if (header.is_command()) {
            messages += of_subscriber && !is_inside && is_subscription_command(body);
        } else {
            is_inside = header.has_more();
            messages += !is_inside;
        }
        frames = frames.subspan(header.header_size + body.size());
    }
    return messages;
}
}  // namespace

inbound::inbound(const connection_environment &environment, stream &bytes) noexcept
    : environment_(environment), stream_(bytes), limits_(limits_of(environment.options)),
      most_unfinished_(most_octets_of_message(environment.options)),
      receives_(environment.options.receives()) {}

/// All that was kept back goes with the connection.
inbound::~inbound() {
    bool is_inside = in_message_;
    if (has_held())
        for (const held_range &each : unfed_->held)
            count_left({each.begin, each.end}, 0, is_inside);
}

/// Messages that have come, and that nobody gets: the connection ends for want of memory, or with
/// its socket.
void inbound::count_left(byte_span frames, std::uint64_t counted) const noexcept {
    bool is_inside = in_message_;
    count_left(frames, counted, is_inside);
}

void inbound::count_left(byte_span frames, std::uint64_t counted, bool &is_inside) const noexcept {
    if (receives_ == reception::none)
        return;
    const std::uint64_t messages = messages_in(frames, environment_.options.has_subscribers(), is_inside);
    if (messages > counted)
        environment_.count(counter::dropped_unread, messages - counted);
}

void inbound::open(pipe_end &pipe) noexcept {
    pipe_ = &pipe;
    if (pipe.is_peer_closed())
        taking_ = taking::nothing;
    else if (taking_ == taking::beyond_mark)
        exceed_mark();
}

/// It is told at once, and again when that changes, of what nobody takes.
void inbound::set_decoder(std::unique_ptr<frame_decoder> decoder) noexcept {
    decoder_ = std::move(decoder);
    tell_decoder_what_is_taken();
}

/// A message that it puts together would be thrown away here only once it is whole.
void inbound::tell_decoder_what_is_taken() noexcept {
    if (decoder_)
        decoder_->take_only(discards() ? reception::none : receives_);
}

void inbound::begin(chunk &block, byte_span first, conversation &peer) noexcept {
    if (!decoder_) {
        feed(&peer, &block, first.size() >= block.capacity / 2, first);
        return;
    }
    // The handshake was read with no lead.
    std::uint8_t *const begin = block.data() + decoder_->lead(first.size());
    if (begin > first.data()) {
        std::memmove(begin, first.data(), first.size());
        first = {begin, first.size()};
    }
    feed_decoded(&peer, block, block.data(), 0, first);
}

void inbound::fail(error system) noexcept { fail({.was_established = pipe_ != nullptr, .system = system}); }

/// The first reason stays: what comes after it follows from it.
void inbound::fail(break_reason why) noexcept {
    if (!failure_)
        failure_ = why;
}

/// Counts the message here: a connection that comes to its end at the same time tells nobody why.
void inbound::fail_as_too_large() noexcept {
    environment_.count(counter::dropped_too_large);
    fail({.was_established = true, .system = error::message_too_big});
}

// ---- reading ----

/// The block gets, from its begin: the partial frame that was kept, the lead that a decoder needs,
/// and what is read. Memory is looked for before the read, since octets that were read cannot be
/// put back. `peer` is null on the socket's thread.
inbound::found inbound::read_with(conversation *peer, block_ref &scratch) noexcept {
    if (!is_going_on())
        return {};
    const std::size_t kept = unfed_ ? unfed_->tail.size() : 0;
    const std::size_t carried = kept + (decoder_ ? decoder_->lead(read_beside_large) : 0);
    const std::size_t wanted = std::max(environment_.sizes.in_batch_size, carried + read_beside_large);
    const bool has_large = this->has_large();
    chunk *const block = make_room(scratch, wanted);
    if (!block) {
        fail(error::no_memory);
        return {};
    }
    // The block may be another socket's, with larger reads.
    const std::size_t usable = std::min(block->capacity, wanted);
    const std::size_t lead = kept + (decoder_ ? decoder_->lead(usable - kept) : 0);
    places to;
    if (!choose_places(to, {block->data() + lead, block->data() + usable})) {
        fail(error::no_memory);
        return {};
    }
    if (kept)
        std::memcpy(block->data(), unfed_->tail.data(), kept);
    const io_result result = stream_.try_read({to.ranges.data(), to.count});
    const std::size_t taken = std::min(result.octets, to.large_room);
    if (decoder_)  // before they are moved
        decoder_->pass({static_cast<std::uint8_t *>(to.ranges[0].iov_base), taken});
    if (to.round_to)
        std::memcpy(to.round_to, to.ranges[0].iov_base, taken);
    if (has_large)
        unfed_->large.note_read(taken);
    if (to.is_of_decoder)
        decoder_->fill(taken);
    if (result.octets == 0) {
        if (failed(result.status) && result.status != error::again)
            fail({.was_established = pipe_ != nullptr, .system = result.status, .is_end = result.is_end});
        return {};
    }
    if (peer)  // no heartbeats elsewhere
        peer->note_traffic(environment_.io->now());
    found result_found{result.octets, result.octets == to.large_room + to.room};
    expects_large_ =
        has_large ? unfed_->large.is_whole() : to.is_of_decoder && to.count == 2 && taken == to.large_room;
    if (has_large && expects_large_)
        take_large(peer);
    if (to.is_of_decoder)
        feed_frames(peer);
    const std::size_t rest = result.octets - taken;
    if (rest == 0)
        return result_found;
    if (!pipe_)
        result_found.handshake = {block->data(), rest};
    else if (decoder_)
        feed_decoded(peer, *block, block->data(), kept, {block->data() + lead, rest});
    else
        feed_block(peer, *block, {block->data(), kept + rest});
    return result_found;
}

/// Feeds what the decoder has put together. A large one is handed on where it stands; of a small
/// one the octets are copied, so that its memory does not stay for them.
void inbound::feed_frames(conversation *peer) noexcept {
    block_ref owner;
    for (byte_span frame; !(frame = decoder_->take_frame(owner)).empty();)
        feed(peer, owner.get(), frame.size() >= held_from, frame);
}

/// Feeds what the decoder makes of `in`, behind `kept` octets at `out`, in the same block. What a
/// decoder has put together elsewhere comes behind what it has written before that, in the order of
/// the stream. Where memory is short the rest is decoded to be counted.
void inbound::feed_decoded(conversation *peer, chunk &block, std::uint8_t *out, std::size_t kept,
                           byte_span in) noexcept {
    do {
        const frame_decoder::decoded step = decoder_->decode(in, out + kept);
        in = in.subspan(step.taken);
        if (step.octets > 0)
            feed_block(peer, block, {out, kept + step.octets});
        out += kept + step.octets;
        kept = 0;
        feed_frames(peer);
    } while (!in.empty() && (is_going_on() || is_short_of_memory()));
}

/// Feeds what stands in the block, with what was kept of the read before in front.
void inbound::feed_block(conversation *peer, chunk &block, byte_span in) noexcept {
    if (unfed_)
        unfed_->tail.clear();
    if (skipped_.pass(in))
        count_thrown_away(1);
    feed(peer, &block, in.size() >= block.capacity / 2, in);
}

byte_span inbound::put(block_ref &scratch, byte_span octets) noexcept {
    chunk *const block =
        make_room(scratch, std::max(environment_.sizes.in_batch_size, octets.size() + read_beside_large));
    if (!block)
        return {};
    std::copy(octets.begin(), octets.end(), block->data());
    return {block->data(), octets.size()};
}

/// A block that was handed to a pipe belongs to that now, and the next read gets another one.
chunk *inbound::make_room(block_ref &scratch, std::size_t size) noexcept {
    if (!scratch || scratch.get()->is_shared() || static_cast<chunk *>(scratch.get())->capacity < size) {
        scratch.reset();
        scratch = block_ref::adopt(environment_.pool->allocate(size));
    }
    return static_cast<chunk *>(scratch.get());
}

/// In the frame under way, and in what of the block is free. False when memory is short. The octets
/// of the frame go straight to where it stays. The block is read into as well only where this read
/// can reach the end of the frame: else it would get octets of its middle.
bool inbound::choose_places(places &out, std::span<std::uint8_t> free) noexcept {
    out.room = free.size();
    if (!pipe_)
        out.room = std::min(out.room, handshake_read);
    else if (expects_large())
        out.room = std::min(out.room, read_beside_large);

    if (const frame_decoder::place next = decoder_ ? decoder_->place_for_next() : frame_decoder::place();
        !next.octets.empty()) {
        out.is_of_decoder = true;
        out.large_room = std::min(next.octets.size(), most_octets_in_read);
        out.room = std::min(out.room, read_beside_large);
        out.ranges[out.count++] = {next.octets.data(), out.large_room};
        if (!next.ends_frame || out.large_room < next.octets.size()) {
            out.room = 0;
            return true;
        }
    } else if (has_large()) {
        large_frame &large = unfed_->large;
        const large_frame::place next = large.place_for_next(*environment_.pool);
        if (next.octets == 0)
            return false;
        out.large_room = std::min(next.octets, most_octets_in_read);
        out.ranges[out.count++] = {next.begin, out.large_room};
        if (large.is_elsewhere())
            go_round(out, large.elsewhere(), free);
        if (out.large_room < large.missing()) {
            out.room = 0;
            return true;
        }
    }
    out.ranges[out.count++] = {free.data(), out.room};
    return true;
}

/// Has the octets of the frame under way come by the end of what is free, to be copied from there
/// while they are in the cache, if reading them straight to where the body begins is slow.
void inbound::go_round(places &out, const std::uint8_t *body, std::span<std::uint8_t> free) noexcept {
    constexpr std::size_t page = 4096;
    constexpr std::size_t left = read_beside_large + page;
    if (free.size() <= left)
        return;
    iovec &large = out.ranges[0];
    const std::size_t room = std::min(out.large_room, free.size() - left);
    std::uint8_t *const last = free.data() + free.size() - room;
    const std::optional<std::size_t> before = stream_.way_round(body, large.iov_base, last);
    if (!before)
        return;
    out.round_to = static_cast<std::uint8_t *>(large.iov_base);
    large = {last - *before, room};
    out.large_room = room;
    out.room = std::min(out.room, read_beside_large);
}

/// The frame is whole: it goes to the pipe by reference, or it has been read into the borrower's
/// memory and is there already.
void inbound::take_large(conversation *peer) noexcept {
    if (!gets_commands_)  // which only the loop's thread answers
        pipe_->lease().note_large(unfed_->large.arrived());
    if (fills_offer()) {
        deliver_offered();
        return;
    }
    block_ref owner;
    const byte_span whole = unfed_->large.take(owner);
    feed(peer, owner.get(), true, whole);
}

// ---- traffic ----

/// While something is held back all that comes is held behind it, for messages stay in order. After
/// a failure it is counted.
void inbound::feed(conversation *peer, block *owner, bool may_share, byte_span in) noexcept {
    if (!is_going_on()) {
        count_left(in);
        return;
    }
    const std::uint8_t *stopped = in.data();
    if (!has_held() && !is_paused())
        stopped = take_traffic(peer, owner, may_share, in);
    if (!is_going_on())
        return;
    if (const byte_span rest(stopped, in.data() + in.size()); !rest.empty())
        hold(owner, may_share, rest);
}

/// Walks and delivers frames. Returns where it stopped because `flow_` says so, else the end.
const std::uint8_t *inbound::take_traffic(conversation *peer, block *owner, bool may_share,
                                          byte_span in) noexcept {
    const std::uint8_t *p = in.data();
    const std::uint8_t *const end = p + in.size();
    while (p != end) {
        const bool continues = in_message_;
        // A message that has begun comes to its end: what is there of it counts by the mark in
        // octets, and nobody can take it.
        limits_.max_messages = !has_receiver() || may_exceed_mark()
                                   ? UINT64_MAX
                                   : std::max<std::uint64_t>(pipe_->credit(), continues);
        const walk_result walked = walk_frames({p, end}, in_message_, limits_);
        if (walked.octets > 0) {
            p += deliver(owner, may_share, p, walked, continues);
            if (!is_going_on()) {
                count_left({p, end}, is_too_large());
                return end;
            }
        }
        const std::size_t whole = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        const bool is_whole = walked.next.header_size > 0 && whole <= static_cast<std::size_t>(end - p);
        switch (walked.stop) {
        case walk_stop::message_limit:
            if (p == end)
                return p;
            if (may_deliver())  // a mark in octets gives credit for one message at a time
                break;
            flow_ = flow::at_mark;
            return p;
        case walk_stop::command:
            gets_commands_ = true;
            if (is_whole) {
                if (!peer)
                    flow_ = flow::at_command;
                else if (take_command(*peer, {p + walked.next.header_size, p + whole}))
                    p += whole;
                if (!is_going_on()) {
                    // One that is too much for its message counts with that, whose end may follow.
                    count_left({is_too_large() ? p + whole : p, end}, is_too_large());
                    return end;
                }
                if (is_paused())
                    return p;
                break;
            }
            [[fallthrough]];
        case walk_stop::need_more:
            if (p != end)
                keep_tail(!peer, {p, end}, walked.next);
            return end;
        case walk_stop::bad_frame:
            fail({.was_established = true, .failure = failure_kind::protocol, .detail = fault_of_frame()});
            return end;
        case walk_stop::too_big:
            fail_as_too_large();
            if (walked.next.is_command() && is_whole)
                p += whole;
            count_left({p, end}, in_message_ || !walked.next.is_command());
            return end;
        }
    }
    return end;
}

/// False when it is not done: there is no room for what it says, or the conversation is over.
bool inbound::take_command(conversation &peer, byte_span body) noexcept {
    const conversation::action action = peer.resume({conversation::event_kind::command, body});
    if (action.round_trip >= std::chrono::nanoseconds::zero())
        environment_.count_round_trip(action.round_trip);
    if (is_subscription(action)) {
        // Towards a publisher it is a message, which the mark counts.
        if (!may_deliver()) {
            flow_ = flow::at_mark;
            return false;
        }
        if (!discards())
            return pass_subscription(action.kind == conversation::action_kind::subscribe, action.topic);
        count_thrown_away(!in_message_);
        return true;
    }
    if (action.kind == conversation::action_kind::gap)
        return note_gap(action.lost);
    if (action.kind != conversation::action_kind::close)
        return true;
    fail(break_reason::of(action, true, true));
    return false;
}

/// It goes into the pipe, unpublished, where what is said more than once is one: a peer that says
/// it without end takes no memory.
bool inbound::note_gap(std::uint64_t lost) noexcept {
    if (in_message_)
        fail({.was_established = true,
              .failure = failure_kind::protocol,
              .detail = protocol_errors::unexpected_command});
    else if (const error e = has_receiver() ? pipe_->gaps().write(lost) : error::none; failed(e))
        fail(e);
    return is_going_on();
}

/// Gives walked frames to the pipe: whole messages are published, the frames of an unfinished one
/// follow behind, hidden. `continues`: the first of them is not the first frame of its message.
/// Returns the octets of those that it has done with: fewer than all only after a failure.
std::size_t inbound::deliver(block *owner, bool may_share, const std::uint8_t *p, const walk_result &walked,
                             bool continues) noexcept {
    if (!has_receiver()) {
        count_thrown_away(walked.messages);
        return walked.octets;
    }
    if (receives_ == reception::subscriptions)
        return sift({p, walked.octets});
    offer_.forget();
    note_beyond_mark(walked.octets);
    const auto put = [&](byte_span range, std::uint32_t messages) {
        return may_share
                   ? pipe_->append(owner, range, messages, !continues, static_cast<chunk *>(owner)->capacity)
                   : pipe_->write_wire(range, messages);
    };
    const std::size_t rest = walked.octets - walked.message_octets;
    error e = error::none;
    if (walked.message_octets > 0) {
        e = put({p, walked.message_octets}, walked.messages);
        if (failed(e)) {
            fail(e);
            return 0;
        }
        has_delivered_ = true;
        pipe_->publish();
        continues = false;
    }
    if (rest > 0)
        e = put({p + walked.message_octets, rest}, 0);
    if (walked.messages > 0)
        unfinished_ = 0;
    if (failed(e))
        fail(e);
    else
        (void)count_unfinished(rest);
    return walked.octets;
}

/// Messages of which nobody has got a part, or gets the rest.
void inbound::count_thrown_away(std::uint64_t messages) const noexcept {
    if (messages > 0)
        environment_.count(discards() ? counter::dropped_unread : counter::dropped_unwanted, messages);
}

/// Counts what was kept of a message under way; false where that is too much, and has failed the
/// connection. It may be as much as whole messages could be: their number is limited by the mark,
/// and their size by ZMQ_MAXMSGSIZE.
bool inbound::count_unfinished(std::uint64_t octets) noexcept {
    unfinished_ += octets;
    if (unfinished_ <= most_unfinished_)
        return true;
    fail_as_too_large();
    return false;
}

/// Counts octets beyond the mark, together with what earlier connections have brought since the
/// pipe was within its mark last.
void inbound::exceed_mark() noexcept {
    if (discards())
        return;
    taking_ = taking::beyond_mark;
    if (pipe_ && !pipe_->is_beyond_mark())
        pipe_->slot.beyond_mark = 0;
}

// ---- subscriptions ----

/// Gives the pipe what may be subscriptions. Frames are passed on one by one: between two
/// subscriptions there may be messages that nobody takes.
std::size_t inbound::sift(byte_span frames) noexcept {
    std::size_t done = 0;
    for (frame_header header; get_frame_header(frames.data() + done, frames.size() - done, header);) {
        const byte_span body =
            frames.subspan(done + header.header_size, static_cast<std::size_t>(header.body_size));
        if (!sift_frame(header.has_more(), body))
            break;
        done += header.header_size + body.size();
        if (subscription_sieve::wants(body))
            note_beyond_mark(header.header_size + body.size());
        if (!sieve_.is_inside())
            unfinished_ = 0;
        else if (subscription_sieve::wants(body) && !count_unfinished(header.header_size + body.size()))
            break;
    }
    return done;
}

/// Counts the message that ends here, if nothing of it is passed on.
bool inbound::sift_frame(bool has_more, byte_span body) noexcept {
    const bool is_thrown_away = ends_unwanted(has_more, body);
    if (const error e = sieve_.take(*pipe_, has_more, body); failed(e)) {
        fail(e);
        return false;
    }
    count_thrown_away(is_thrown_away);
    return true;
}

/// Whether this frame is the last of a message of which nothing is passed on.
bool inbound::ends_unwanted(bool has_more, byte_span body) const noexcept {
    return !has_more && !sieve_.is_inside() && !subscription_sieve::wants(body);
}

void inbound::subscribe_to_all() noexcept {
    if (!discards())
        (void)pass_subscription(true, {});
}

/// Subscriptions count as messages, so that a peer which sends them without end is held back like
/// any other. Between the frames of a message they go in band.
bool inbound::pass_subscription(bool is_subscribe, byte_span topic) noexcept {
    try {
        std::vector<std::uint8_t> body;
        body.reserve(topic.size() + 1);
        body.push_back(is_subscribe ? in_band::subscribe : in_band::cancel);
        body.insert(body.end(), topic.begin(), topic.end());
        const bool is_inside = is_inside_message();
        if (!failed(pipe_->write(is_inside ? frame_flag::command : 0, body))) {
            note_beyond_mark(short_header_size + body.size());
            if (is_inside)
                return count_unfinished(body.size());
            pipe_->publish();
            return true;
        }
    } catch (...) {
    }
    fail(error::no_memory);
    return false;
}

}  // namespace zlink
