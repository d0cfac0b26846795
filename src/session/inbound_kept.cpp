// The octets that a connection has read and not delivered: a frame that is not whole yet, traffic
// that the receiver's mark does not let through, and a body in the borrower's memory.
//
// Map: what is kept back; on the socket's thread.
#include <algorithm>
#include <cstring>
#include <new>

#include "session/inbound.hpp"

namespace zlink {

// ---- what is kept back ----

/// Whether somebody takes, as far as is known, a message frame of which this has arrived.
bool inbound::is_wanted(byte_span body) const noexcept {
    return has_receiver() && (receives_ == reception::all || body.empty() || subscription_sieve::wants(body));
}

/// Makes the place of what is kept, if there was none. False when memory is short.
bool inbound::may_keep() noexcept {
    if (!unfed_)
        unfed_.reset(new (std::nothrow) unfed);
    return unfed_ != nullptr;
}

/// Keeps a partial frame for the next read: in memory of its own when it is known to be large.
void inbound::keep_tail(bool is_sockets_thread, byte_span frame, const frame_header &header) noexcept {
    const byte_span body = frame.subspan(std::min<std::size_t>(header.header_size, frame.size()));
    bool is_kept = true;
    // When only subscriptions are taken, the first octet of the body has something to say.
    const bool is_known = receives_ != reception::subscriptions || !body.empty();
    if (header.header_size > 0 && !header.is_command() && !is_wanted(body)) {
        is_kept = skip_rest(header, frame.size());
    } else if (!may_keep()) {
        is_kept = false;
    } else if (is_known && header.header_size > 0 &&
               header.header_size + header.body_size >= large_frame::own_memory_from) {
        if (suits_offer(is_sockets_thread, header))
            unfed_->large.begin_elsewhere(offer_.take(), frame, header);
        else
            is_kept = unfed_->large.begin(*environment_.pool, frame, header);
    } else {
        try {
            unfed_->tail.assign(frame.begin(), frame.end());
        } catch (...) {
            is_kept = false;
        }
    }
    if (!is_kept)
        fail(error::no_memory);
}

/// The rest of a message frame that nobody takes is not kept.
bool inbound::skip_rest(const frame_header &frame, std::size_t have) noexcept {
    const std::uint64_t left = frame.header_size + frame.body_size - have;
    in_message_ = frame.has_more();
    const bool is_sifted = !discards() && receives_ == reception::subscriptions;
    skipped_.begin(left, is_sifted ? ends_unwanted(frame.has_more(), {}) : !frame.has_more());
    return !is_sifted || !failed(sieve_.take(*pipe_, frame.has_more(), {}));
}

/// Published messages stay. Frames of a message that is not whole are taken back, and the rest of a
/// large one is skipped as it comes.
void inbound::discard() noexcept {
    taking_ = taking::nothing;
    tell_decoder_what_is_taken();
    pipe_->roll_back();
    if (has_large() && !unfed_->large.header().is_command()) {
        (void)skip_rest(unfed_->large.header(), unfed_->large.arrived());
        unfed_->large.forget();
    }
}

/// Keeps traffic back that the receiver's mark does not let through yet. The memory is shared where
/// the block is well filled; a little is copied behind the last copy, or else into a block of its
/// own, so that a block does not stay for a few octets.
void inbound::hold(block *owner, bool may_share, byte_span in) noexcept {
    if (!may_keep()) {
        count_left(in);
        fail(error::no_memory);
        return;
    }
    std::vector<held_range> &held = unfed_->held;
    try {
        if (may_share) {
            held.push_back({block_ref::share(owner), in.data(), in.data() + in.size()});
            return;
        }
        if (!held.empty() && held.back().room >= in.size()) {
            held_range &last = held.back();
            std::memcpy(last.owner_end(), in.data(), in.size());
            last.end += in.size();
            last.room -= in.size();
            return;
        }
        if (chunk *const own = environment_.pool->allocate(std::max(in.size(), held_from))) {
            std::memcpy(own->data(), in.data(), in.size());
            held.push_back(
                {block_ref::adopt(own), own->data(), own->data() + in.size(), own->capacity - in.size()});
            return;
        }
    } catch (...) {
    }
    count_left(in);
    fail(error::no_memory);
}

/// Delivers the ranges that are held, as far as there is room. False after a failure. A range of
/// which only the beginning was let through stays in front, from there on. To deliver may fail in
/// the middle; the ranges go with the connection then, and are counted.
bool inbound::resume_held(conversation *peer) noexcept {
    std::vector<held_range> &held = unfed_->held;
    auto front = held.begin();
    for (; !is_paused() && front != held.end(); front += front->begin == front->end) {
        front->begin = take_traffic(peer, front->owner.get(), true, {front->begin, front->end});
        if (!is_going_on())
            return false;
    }
    held.erase(held.begin(), front);
    return true;
}

/// A command that the socket's thread has stopped at is taken now, where there is a peer.
bool inbound::resume_with(conversation *peer) noexcept {
    if (!is_going_on())
        return false;
    flow_ = may_deliver() ? flow::going : flow::at_mark;
    if (has_held() && !resume_held(peer))
        return false;
    return !is_paused();
}

// ---- on the socket's thread ----

/// One read in each call: the borrower looks at its other connections before the next.
bool inbound::read_now(block_ref &scratch) noexcept {
    if (!is_paused()) {
        const found what = read_with(nullptr, scratch);
        last_look_.note_read(what.octets, what.has_filled_room || stream_.holds_input());
    } else if (may_deliver()) {
        last_look_.note_kept_back(true);
        (void)resume_with(nullptr);
    } else {
        last_look_.note_kept_back(false);
        return false;  // the borrower leaves what it has got already: that may take long
    }
    return is_going_on() && flow_ != flow::at_command;
}

/// Whether a frame that has begun to arrive is all of the message that the borrower waits for.
bool inbound::suits_offer(bool is_sockets_thread, const frame_header &frame) const noexcept {
    return is_sockets_thread && !in_message_ && !frame.has_more() && !frame.is_command() &&
           offer_.fits(frame.body_size);
}

/// The body stands in the memory of the call that waits for it: it is published without an owner,
/// and is taken, or copied away, before that call returns.
void inbound::deliver_offered() noexcept {
    const error e = pipe_->write_external(0, {}, unfed_->large.take_body());
    if (failed(e)) {
        environment_.count(counter::dropped_unread, 1);
        fail(e);
        return;
    }
    offer_.note_filled();
    has_delivered_ = true;
    pipe_->publish();
}

/// The caller's memory is not written to after this. What has come of a body there moves into
/// memory of the connection.
inbound::offer_end inbound::withdraw_offer() noexcept {
    if (offer_.withdraw())
        return reading_half::offer_end::filled;
    if (!fills_offer() || unfed_->large.move_to_own_memory(*environment_.pool))
        return reading_half::offer_end::unused;
    unfed_->large.forget();
    fail(error::no_memory);
    return reading_half::offer_end::failed;
}

}  // namespace zlink
