// ROUTER, which knows its peers by their names. See router.hpp.
//
// Order:    peers: names, handover, ends, notices; sending; receiving; waiting.
#include "socket/router.hpp"

#include "core/bytes.hpp"
#include "pipe/in_band.hpp"
#include "socket/two_way_pattern.hpp"

namespace zlink {

// ---- peers ----

void router::attach(const pipe_end_ptr &pipe, bool) {
    if (is_anonymous(*pipe)) {
        try {
            (void)await_hello(*pipe);
        } catch (...) {
            host_.rescan_pipes_later();
        }
    } else if (peers_.contains(pipe->slot.routing_id)) {
        host_.finished(*pipe);
    } else {
        pipe->slot.is_named_here = true;
        enlist(*pipe, std::string(pipe->slot.routing_id));
        incoming_.attach(*pipe);
        notify(*pipe, notify_connect);
    }
    if (options_.probe_router && !pipe->is_closed())
        send_probe(*pipe);
}

/// Names the pipe when its hello is there, else arms it. False when the pipe was refused.
bool router::await_hello(pipe_end &pipe) {
    while (is_anonymous(pipe)) {
        if (!first_.pipe) {
            if (!pipe.has_input()) {
                pipe.arm_reader();
                heavy_fence();
                if (!pipe.has_input())
                    return true;
            }
            pipe.read(first_.frame);
            first_.pipe = &pipe;
        }
        const bool is_own = first_.pipe == &pipe;
        if (!take_first() && is_own)
            return false;
    }
    return true;
}

/// Acts on the first frame of an anonymous pipe, which stays for the next time when memory is
/// short. False when the pipe was refused.
bool router::take_first() {
    pipe_end &pipe = *first_.pipe;
    const frame_view &frame = first_.frame;
    bool is_kept = true;
    if (frame.is_command()) {
        if (frame.size > 0 && frame.data[0] == in_band::hello)
            is_kept = name(pipe, as_text(frame.body().subspan(1)));
    } else {
        try {
            enlist(pipe, generate_id());
            early_.push_back(first_);
        } catch (...) {
            unname(pipe);
            throw;
        }
        notify(pipe, notify_connect);
    }
    first_ = {};
    return is_kept;
}

/// False when the pipe was refused.
bool router::name(pipe_end &pipe, std::string_view announced) {
    std::string id(announced);
    if (id.empty() || id[0] == 0) {
        id = generate_id();
    } else if (const auto known = peers_.find(id); known != peers_.end()) {
        if (!options_.router_handover) {
            host_.finished(pipe);
            return false;
        }
        take_over_from(*known->second);
        if (peers_.contains(id))  // by a peer that has come back meanwhile
            id = generate_id();
    }
    try {
        enlist(pipe, std::move(id));
        incoming_.attach(pipe);
    } catch (...) {
        unname(pipe);
        throw;
    }
    notify(pipe, notify_connect);
    return true;
}

void router::enlist(pipe_end &pipe, std::string routing_id) {
    pipe.slot.routing_id = std::move(routing_id);
    peers_.emplace(pipe.slot.routing_id, &pipe);
}

void router::unname(pipe_end &pipe) noexcept {
    unlist(pipe);
    pipe.slot.routing_id.clear();
}

/// No more writing to this pipe: takes it out of the table.
void router::unlist(pipe_end &pipe) noexcept {
    if (const auto at = peers_.find(pipe.slot.routing_id); at != peers_.end() && at->second == &pipe)
        peers_.erase(at);
    if (last_peer_ == &pipe)
        last_peer_ = nullptr;
    if (blocked_ == &pipe)
        blocked_ = nullptr;
    if (target_ == &pipe) {
        pipe.roll_back();
        target_ = nullptr;
        sending_ = sending::message_that_lost_its_peer;
    }
}

/// Another peer announced this one's id (ZMQ_ROUTER_HANDOVER).
void router::take_over_from(pipe_end &old) {
    end_evicted();
    unlist(old);
    old.note_taken_over();
    if (!is_holding_)
        // where a poll has seen a message, the next receive finds one
        (void)incoming_.has_input(*this);
    evict(old);
}

void router::dismiss(pipe_end &pipe) {
    end_evicted();
    unlist(pipe);
    if (is_in_front(pipe))
        incoming_.detach(pipe);
    evict(pipe);
}

void router::evict(pipe_end &old) {
    if (is_receiving_from(old)) {
        if (!is_in_front(old))
            old.slot.routing_id = generate_id();
        evicted_ = &old;
        return;
    }
    incoming_.detach(old);
    finish(old);
}

void router::drop_early(pipe_end &pipe) noexcept {
    const auto drops = [&](const early_message &what) {
        if (what.pipe != &pipe)
            return false;
        pipe.slot.note_in_vain(what.frame);
        return true;
    };
    if (drops(first_))
        first_ = {};
    std::erase_if(early_, drops);
}

void router::detach(pipe_end &pipe) noexcept {
    unlist(pipe);
    if (is_holding_ && held_from_ == &pipe) {
        pipe.slot.note_in_vain(held_);
        is_holding_ = false;
    }
    if (evicted_ == &pipe)
        evicted_ = nullptr;
    drop_early(pipe);
    incoming_.detach(pipe);
}

void router::on_readable(pipe_end &pipe) {
    if (is_anonymous(pipe))
        (void)await_hello(pipe);
    else
        incoming_.activate(pipe);
}

void router::on_closed(pipe_end &pipe) {
    if (is_anonymous(pipe)) {
        if (!await_hello(pipe))
            return;
        if (is_anonymous(pipe)) {
            host_.finished(pipe);
            return;
        }
    }
    unlist(pipe);
    pipe.slot.note_ending();
    if (is_early(pipe))
        return;
    if (is_holding_ && held_from_ == &pipe)
        incoming_.activate(pipe);
    else if (incoming_.end(pipe, *this))
        finish(pipe);
}

/// Lets go of a pipe that lost its id once its message is read.
void router::end_evicted() {
    if (!evicted_ || is_receiving_from(*evicted_))
        return;
    pipe_end &pipe = *evicted_;
    incoming_.detach(pipe);
    finish(pipe);
}

/// The pipe is read to its end, or lost its id.
void router::finish(pipe_end &pipe) {
    if (evicted_ == &pipe)
        evicted_ = nullptr;
    notify(pipe, notify_disconnect);
    host_.finished(pipe);
}

/// Queues a notice when the application wants it, and memory is there. A peer that goes before its
/// coming was read leaves no notice at all.
void router::notify(pipe_end &pipe, int what) noexcept {
    if (pipe.other_kind() == end_kind::socket || options_.router_notify == 0 || options_.is_raw())
        return;
    const std::string &id = pipe.slot.routing_id;
    if (what == notify_disconnect) {
        if (const auto came = arrivals_.find(id); came != arrivals_.end()) {
            const auto at = came->second;
            arrivals_.erase(came);
            notices_.erase(at);
            return;
        }
    }
    try {
        if (!(options_.router_notify & what))
            return;
        notices_.push_back({id, what});
        if (what == notify_connect)
            arrivals_.emplace(notices_.back().routing_id, std::prev(notices_.end()));
    } catch (...) {
    }
}

/// Leaves the id of the oldest notice in notified_id_.
void router::take_notice() noexcept {
    const auto first = notices_.begin();
    if (const auto at = arrivals_.find(first->routing_id); at != arrivals_.end() && at->second == first)
        arrivals_.erase(at);
    notified_id_ = std::move(first->routing_id);
    notices_.pop_front();
}

/// A pipe that outlives its connections has another peer at its other end, perhaps. A name that
/// somebody else has is not given twice, and nobody is turned out for one who comes back. Where
/// memory is short the name stays.
void router::rename(pipe_end &pipe, std::string_view announced) noexcept {
    std::string &id = pipe.slot.routing_id;
    const bool is_nameless = announced.empty() || announced[0] == 0;
    const auto at = peers_.find(id);
    const bool is_listed = at != peers_.end() && at->second == &pipe;
    if (pipe.slot.is_named_here || announced == id || (is_nameless && !id.empty() && id[0] == 0) ||
        (!is_listed && !pipe.slot.is_ending()))
        return;
    try {
        std::string fresh =
            is_nameless || peers_.contains(announced) ? generate_id() : std::string(announced);
        if (!is_listed) {
            id = std::move(fresh);
            return;
        }
        host_.leave_way_out();
        auto entry = peers_.extract(at);
        id = std::move(fresh);
        entry.key() = id;
        peers_.insert(std::move(entry));
    } catch (const std::bad_alloc &) {
    }
}

/// With ZMQ_ROUTER_NOTIFY a pipe that outlives its connections tells of each of them.
void router::on_command(pipe_end &pipe, const frame_view &command) {
    if (command.size == 0 || (command.data[0] != in_band::hello && command.data[0] != in_band::gone))
        return;
    pipe.note_news_taken();
    if (command.data[0] == in_band::gone) {
        notify(pipe, notify_disconnect);
        return;
    }
    if (!options_.is_raw())
        rename(pipe, as_text(command.body().subspan(1)));
    notify(pipe, notify_connect);
}

std::string router::generate_id() {
    std::string id(5, '\0');
    do
        put_u32(reinterpret_cast<std::uint8_t *>(id.data()) + 1, next_id_++);
    while (peers_.contains(id));
    return id;
}

// ---- sending ----

inline pipe_end *router::find(std::string_view routing_id) noexcept {
    if (last_peer_ && last_peer_->slot.routing_id == routing_id)
        return last_peer_;
    const auto at = peers_.find(routing_id);
    if (at == peers_.end())
        return nullptr;
    return last_peer_ = at->second;
}

error router::has_room_for(std::string_view routing_id, bool &out) const {
    const auto at = peers_.find(routing_id);
    if (options_.is_raw() || at == peers_.end())
        return options_.is_raw() ? error::not_supported : error::host_unreachable;
    out = at->second->has_credit();
    return error::none;
}

error router::send_address(const outgoing &frame) {
    blocked_ = nullptr;
    if (!frame.more)  // an address and no message
        return error::none;
    pipe_end *pipe = find(as_text(frame.body));
    if (__builtin_expect(!pipe || !pipe->has_credit(), 0)) {
        if (pipe ? waits_for_full() : options_.router_mandatory) {
            blocked_ = pipe;
            return pipe ? error::again : error::host_unreachable;
        }
        if (pipe)
            drop_for(*pipe);
        else
            host_.count_drop(counter::dropped_unroutable);
        pipe = nullptr;
    }
    target_ = pipe;
    sending_ = sending::message;
    return error::none;
}

/// A message for a peer without room.
void router::drop_for(pipe_end &pipe) noexcept {
    pipe.note_drop();
    host_.tell_slow(pipe);
    if (options_.slow_peer == slow_peer_rule::disconnect && pipe.is_peer_slow())
        host_.cut(pipe, cut_reason::too_slow);
}

direct_way router::direct_output() noexcept {
    if (is_sending() || peers_.size() != 1)
        return {};
    const auto &[id, pipe] = *peers_.begin();
    return {pipe, as_bytes(id)};
}

void router::resume_output() noexcept {
    target_ = peers_.begin()->second;
    sending_ = sending::message;
}

error router::send_body(const outgoing &frame) {
    if (target_) {
        if (const error e = write_frame(*target_, frame); failed(e))
            return e;
        if (!frame.more)
            std::exchange(target_, nullptr)->publish();
    } else if (__builtin_expect(sending_ == sending::message_that_lost_its_peer && !frame.more, 0)) {
        count_lost_message();
    }
    if (!frame.more)
        sending_ = sending::nothing;
    return error::none;
}

/// It is whole, and its peer went in the middle.
[[gnu::noinline, gnu::cold]] void router::count_lost_message() noexcept {
    host_.count_drop(counter::dropped_peer_gone);
}

// ---- receiving ----

error router::receive(frame_view &out) {
    if (is_holding_) {
        is_holding_ = false;
        out = held_;
        return error::none;
    }
    if (__builtin_expect(incoming_.is_in_message(), 0) && incoming_.read(out, *this))
        return error::none;
    for (;;) {
        if (__builtin_expect(evicted_ || !notices_.empty() || !early_.empty(), 0) && receive_special(out))
            return error::none;
        if (incoming_.read(held_, *this)) {
            pipe_end *from = incoming_.last();
            hold(out, from->slot.routing_id, from);
            return error::none;
        }
        if (notices_.empty())  // a pipe that ended may have left one
            return error::again;
    }
}

direct_way router::direct_input() noexcept {
    pipe_end *only = incoming_.only();
    if (!only || is_holding_ || evicted_ || !notices_.empty() || !early_.empty())
        return {};
    return {only, as_bytes(only->slot.routing_id)};
}

void router::resume_input() noexcept {
    is_holding_ = incoming_.read(held_, *this);
    held_from_ = incoming_.last();
}

/// The rare things at the beginning of a message. False when there was nothing to receive among
/// them.
bool router::receive_special(frame_view &out) {
    end_evicted();
    if (evicted_ && is_in_front(*evicted_)) {
        incoming_.read(held_, *this);
        notified_id_ = std::exchange(evicted_->slot.routing_id, generate_id());
        hold(out, notified_id_, evicted_);
        return true;
    }
    if (!notices_.empty()) {
        take_notice();
        held_ = frame_view{};
        hold(out, notified_id_, nullptr);
        return true;
    }
    if (!early_.empty()) {
        const early_message first = early_.front();
        if (first.frame.has_more())
            incoming_.attach_in_message(*first.pipe);
        else
            incoming_.attach(*first.pipe);
        early_.pop_front();
        held_ = first.frame;
        hold(out, first.pipe->slot.routing_id, first.pipe);
        return true;
    }
    return false;
}

/// Gives out the id; `held_` follows with the next call.
inline void router::hold(frame_view &out, std::string_view routing_id, pipe_end *from) noexcept {
    out = frame_view{};
    out.data = reinterpret_cast<const std::uint8_t *>(routing_id.data());
    out.size = routing_id.size();
    out.flags = frame_flag::more;
    out.info = held_.info;
    is_holding_ = true;
    held_from_ = from;
}

bool router::has_input() {
    end_evicted();
    return is_holding_ || !notices_.empty() || !early_.empty() || incoming_.has_input(*this) ||
           !notices_.empty();
}

// ---- waiting ----

bool router::has_output() {
    blocked_ = nullptr;  // whoever asks waits for any peer
    return !waits_for_full() || is_sending() || has_room();
}

/// Whether what a sender waits for is there: a blocked send waits for its own peer alone.
bool router::has_room() noexcept {
    if (blocked_)
        return blocked_->has_credit();
    const bool drops_all = peers_.empty() && !options_.router_mandatory;
    return drops_all || std::any_of(peers_.begin(), peers_.end(),
                                    [](const auto &peer) { return peer.second->has_credit(); });
}

void router::arm_output() noexcept {
    if (blocked_) {
        blocked_->arm_writer();
        return;
    }
    for (const auto &peer : peers_) {
        if (!peer.second->has_credit())
            peer.second->arm_writer();
    }
}

bool router::arm(bool for_input, bool for_output) {
    if (for_input && has_input())
        return true;
    if (for_output && (!waits_for_full() || is_sending()))
        return true;
    if (for_input)
        incoming_.arm();
    if (for_output)
        arm_output();
    heavy_fence();
    const bool found_input = for_input && incoming_.settle();
    return found_input || (for_output && has_room());
}

std::unique_ptr<pattern> make_router(const pattern_environment &environment) {
    return std::make_unique<router>(environment);
}

}  // namespace zlink
