// The pipes of a socket, and what other threads say of them; see pipe_table.hpp.
//
// Map:      commands; rescans; pipes that come and go; endpoints; marks.
#include "socket/pipe_table.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace zlink {

error pipe_table::process_commands() noexcept {
    leave_direct_input();
    leave_direct_output();
    if (around_.leases.size() == 0)
        pipes_.resize(live_);  // no call of the application's still looks at a frame
    taken_.clear();
    intake_ = intake::going_on;
    has_news_ = true;
    const bool is_all = around_.inbox.take(taken_);
    const bool looks = std::exchange(must_rescan_pipes_, false) || !is_all;
    if (__builtin_expect(!untaken_.empty(), 0))
        std::erase_if(untaken_, [this](const mailbox::command &what) { return try_take_in(what); });
    for (mailbox::command &what : taken_) {
        try {
            perform(what);
        } catch (...) {
            rescan_pipes_later();
        }
    }
    if (__builtin_expect(looks, 0))
        rescan_pipes();
    if (__builtin_expect(intake_ == intake::short_of_memory, 0))
        keep_untaken();
    taken_.clear();
    intake_ = intake::none;
    if (std::exchange(goes_on_, false))
        go_on();
    if (phase_ == phase::open && is_stop_requested())
        phase_ = phase::stopped;
    return phase_ == phase::open ? error::none : error::terminated;
}

/// Leaves the command without its pipe, but for one that is still to be attached.
void pipe_table::perform(mailbox::command &what) {
    using enum mailbox::command_kind;
    if (what.kind == attach) {
        if (try_take_in(what))
            what.pipe.reset();
        return;
    }
    if (!what.pipe || !what.pipe->slot.is_attached())
        return;
    switch (what.kind) {
    case readable:
        pattern_->on_readable(*what.pipe);
        break;
    case writable:
        pattern_->on_writable(*what.pipe);
        break;
    case closed:
        if (!what.pipe->slot.is_ending())
            pattern_->on_closed(*what.pipe);
        break;
    case drain_awaited:
        what.pipe->answer_drain();
        break;
    case cut:
        end_pipe(*what.pipe);
        break;
    case attach:
    case stop:
        break;
    }
}

/// Lets all pipes be looked at with the next call.
void pipe_table::rescan_pipes_later() noexcept {
    must_rescan_pipes_ = true;
    post_look_again();
}

/// Lets the pattern go on when all commands are taken in. An empty one brings the next call here.
void pipe_table::go_on_later() noexcept {
    if (!std::exchange(goes_on_, true) && intake_ == intake::none)
        post_look_again();
}

void pipe_table::go_on() noexcept {
    try {
        pattern_->go_on();
    } catch (...) {
        go_on_later();
    }
}

/// Nobody knows what has become of the pipes when memory was short.
void pipe_table::rescan_pipes() noexcept {
    for (std::size_t i = live_; i-- > 0;) {
        if (i >= live_)
            continue;  // others went with one
        pipe_end &pipe = *pipes_[i];
        pipe.answer_drain();
        try {
            pattern_->on_readable(pipe);
            if (pipe.slot.is_attached())
                pattern_->on_writable(pipe);
            if (pipe.slot.is_attached() && pipe.is_peer_closed() && !pipe.slot.is_ending())
                pattern_->on_closed(pipe);
        } catch (...) {
            rescan_pipes_later();
        }
    }
}

bool pipe_table::try_take_in(const mailbox::command &what) noexcept {
    try {
        take_in(what.pipe, what.is_local);
        return true;
    } catch (...) {
        intake_ = intake::short_of_memory;
        return false;
    }
}

/// Keeps the pipes that memory was too short to attach for the next call.
void pipe_table::keep_untaken() noexcept {
    std::erase_if(taken_, [](const mailbox::command &what) {
        return what.kind != mailbox::command_kind::attach || !what.pipe;
    });
    if (untaken_.empty()) {
        untaken_.swap(taken_);
    } else {
        try {
            untaken_.insert(untaken_.end(), taken_.begin(), taken_.end());
        } catch (...) {
            for (const mailbox::command &what : taken_)
                turn_away(*what.pipe);
        }
    }
    if (!untaken_.empty())
        post_look_again();
}

void pipe_table::attach(const pipe_end_ptr &pipe, bool is_local) {
    try {
        take_in(pipe, is_local);
    } catch (...) {
        turn_away(*pipe);
        throw;
    }
}

void pipe_table::turn_away(pipe_end &pipe) noexcept {
    pipe.close(around_.options.linger_ms);
    count_lost(pipe);
}

void pipe_table::take_in(const pipe_end_ptr &pipe, bool is_local) {
    if (is_closed()) {
        turn_away(*pipe);
        return;
    }
    leave_direct_input();
    leave_direct_output();
    {
        std::lock_guard guard(in_use_);
        pipes_.push_back(pipe);
        std::swap(pipes_[live_], pipes_.back());
        pipe->slot.attach_number = ++attach_count_;  // before others see the pipe
        pipe->slot.socket_index = static_cast<std::uint32_t>(live_++);
    }
    pipe->slot.note_attached();
    if (pipe->other_kind() == end_kind::socket && around_.blocking.may_spin())
        pipe->stand_off();
    pipe->set_pace(&around_.sending);
    try {
        pattern_->attach(pipe, is_local);
    } catch (...) {
        pattern_->detach(*pipe);  // it may have taken it in part
        drop(*pipe, gone::to_come_again);
        throw;
    }
    // It may have been asked for credit, or closed, before anybody here knew of it.
    if (pipe->slot.is_attached())
        pipe->answer_drain();
    if (!pipe->slot.is_attached() || !pipe->is_peer_closed() || pipe->slot.is_ending())
        return;
    try {
        pattern_->on_closed(*pipe);
    } catch (...) {
        rescan_pipes_later();
    }
}

/// Takes a pipe out of use. The object stays until the next commands are taken in.
void pipe_table::drop(pipe_end &pipe, gone how) noexcept {
    input_.set({});
    output_.set({});
    pipe.slot.note_gone();
    around_.leases.forget(pipe);
    std::lock_guard guard(in_use_);
    const counters::move counted(around_.counts);
    if (how == gone::for_good)
        count_gone(pipe);
    const std::size_t at = pipe.slot.socket_index;
    std::swap(pipes_[at], pipes_[--live_]);
    pipes_[at]->slot.socket_index = static_cast<std::uint32_t>(at);
}

/// A message whose peer went while it was being sent was on its way: it counts as sent, like those
/// that are lost in a queue.
void pipe_table::count_drop(counter why) noexcept {
    around_.counts.add(why);
    if (why == counter::dropped_peer_gone)
        around_.counts.add(counter::messages_sent);
}

/// Keeps the traffic of a pipe that goes.
void pipe_table::count_gone(const pipe_end &pipe) noexcept {
    stats what;
    add_traffic_of(pipe, what);
    what.add_to(around_.counts);
    highest_of_gone_out_.keep_most(what.highest_out);
    highest_of_gone_in_.keep_most(what.highest_in);
}

void pipe_table::add_traffic_of(const pipe_end &pipe, stats &to) noexcept {
    const passage out = pipe.outgoing();
    const passage in = pipe.incoming();
    to[counter::messages_sent] += out.published.messages;
    to[counter::octets_sent] += out.published.octets;
    to[counter::messages_received] += in.taken.messages;
    to[counter::octets_received] += in.taken.octets;
    // Between two sockets both would tell the same.
    to[counter::dropped_conflate] +=
        in.replaced + (pipe.other_kind() == end_kind::connection ? out.replaced : 0);
    to[counter::dropped_hwm] += pipe.dropped();
    to[counter::dropped_unwanted] += pipe.slot.read_in_vain.load(std::memory_order_relaxed);
    to.slow_peers += pipe.is_peer_full() ? 1 : 0;
    to.queued_out += out.under_way();
    to.queued_in += in.under_way();
    to.highest_out.keep_most(pipe.highest_outgoing());
    to.highest_in.keep_most(pipe.highest_incoming());
    to.subscriptions += pipe.slot.subscriptions.load(std::memory_order_relaxed);
}

/// Counts what is lost with a pipe that was closed here.
void pipe_table::count_lost(pipe_end &pipe) noexcept {
    const pipe_end::lost_messages lost = pipe.take_lost();
    around_.counts.add(counter::dropped_unread, lost.unread);
    around_.counts.add(counter::dropped_peer_gone, lost.untaken);
}

void pipe_table::add_to(stats &traffic, stats &counted) const noexcept {
    std::lock_guard guard(in_use_);
    counted.add(around_.counts);
    traffic.peers += live_;
    traffic.highest_out.keep_most(highest_of_gone_out_);
    traffic.highest_in.keep_most(highest_of_gone_in_);
    for (const pipe_end_ptr &pipe : live()) {
        add_traffic_of(*pipe, traffic);
        const bool leads_out = pipe->other_kind() == end_kind::connection && pipe->slot.endpoint;
        ++traffic.peers_over[leads_out ? transport_of(*pipe->slot.endpoint) : transport_inproc];
    }
}

void pipe_table::list_neighbours(std::vector<peer_view> &to) const {
    std::lock_guard guard(in_use_);
    for (const pipe_end_ptr &pipe : live()) {
        if (pipe->other_kind() != end_kind::socket)
            continue;
        peer_view seen;
        seen.id = id_of(*pipe);
        seen.endpoint = pipe->slot.endpoint ? *pipe->slot.endpoint : std::string();
        seen.address = seen.endpoint;
        seen.mechanism = "";
        seen.at = peer_view::state::ready;
        seen.is_connecting = pipe->slot.endpoint != nullptr;
        seen.out = pipe->outgoing();
        seen.in = pipe->incoming();
        seen.dropped_hwm = pipe->dropped();
        seen.highest_out = pipe->highest_outgoing();
        seen.highest_in = pipe->highest_incoming();
        seen.subscriptions = pipe->slot.subscriptions.load(std::memory_order_relaxed);
        to.push_back(std::move(seen));
    }
}

void pipe_table::finished(pipe_end &pipe) noexcept {
    if (!pipe.slot.is_attached())
        return;
    drop(pipe);
    pipe.close(around_.options.linger_ms);
    count_lost(pipe);
}

/// Once in an episode, and only where somebody listens. A session knows its peer's names.
void pipe_table::tell_slow(pipe_end &pipe) noexcept {
    if (!around_.events.wants_slow_peers() || !pipe.has_peer() || !pipe.note_slow())
        return;
    if (pipe.other_kind() == end_kind::connection)
        pipe.tell_slow();
    else
        emit_slow_neighbour(pipe);
    look_at_slow(pipe);
}

void pipe_table::emit_slow_neighbour(const pipe_end &pipe) noexcept {
    try {
        // One that was bound has the name that its peer connected to.
        const auto &name = pipe.slot.endpoint ? pipe.slot.endpoint : pipe.other().slot.endpoint;
        const std::string endpoint = name ? *name : std::string();
        around_.events.emit({.kind = event_kind::slow_peer,
                             .value = static_cast<std::uint32_t>(pipe.dropped()),
                             .endpoint = endpoint,
                             .is_connecting = pipe.slot.endpoint != nullptr,
                             .peer = {.address = endpoint, .routing_id = pipe.slot.routing_id},
                             .more_value = pipe.outgoing().under_way().messages});
    } catch (const std::bad_alloc &) {
    }
}

void pipe_table::forget_slow() noexcept {
    for (const pipe_end_ptr &pipe : live())
        pipe->forget_slow();
}

/// Until less than half of the marks waits the pipe calls for each step that its reader takes.
void pipe_table::look_at_slow(pipe_end &pipe) noexcept {
    if (!pipe.is_slow())
        return;
    pipe.arm_writer();
    full_fence();
    (void)pipe.end_slow();
}

/// The place of a peer behind a connection is known. Between two sockets one has the name
/// that the other has connected to.
void pipe_table::tell_gap(const pipe_end &pipe, const peer_info *from, std::uint64_t lost) noexcept {
    try {
        const auto &name = pipe.slot.endpoint ? pipe.slot.endpoint : pipe.other().slot.endpoint;
        const std::string endpoint = name ? *name : std::string();
        const peer_info::place *const found = from ? from->found.get() : nullptr;
        around_.events.emit({.kind = event_kind::gap,
                             .value = static_cast<std::uint32_t>(std::min<std::uint64_t>(lost, UINT32_MAX)),
                             .endpoint = endpoint,
                             .is_connecting = found ? found->is_connecting : pipe.slot.endpoint != nullptr,
                             .peer = found ? found->names : peer_names{.address = endpoint}});
    } catch (const std::bad_alloc &) {
    }
}

void pipe_table::cut(pipe_end &pipe, cut_reason why) noexcept {
    if (pipe.other_kind() == end_kind::connection)
        pipe.cut_peer(why);
    else
        (void)around_.inbox.post({mailbox::command_kind::cut, pipe.shared_from_this()});
}

void pipe_table::end_pipe(pipe_end &pipe) noexcept {
    pattern_->detach(pipe);
    finished(pipe);
}

error pipe_table::end_neighbour(std::uint64_t id) noexcept {
    for (const pipe_end_ptr &pipe : live()) {
        if (pipe->other_kind() != end_kind::socket || id_of(*pipe) != id)
            continue;
        input_.set({});
        output_.set({});
        end_pipe(*pipe);
        return error::none;
    }
    return error::no_entry;
}

std::size_t pipe_table::detach_endpoint(const std::string &endpoint, unread_input what) noexcept {
    (void)enter_beside();  // pipes of the endpoint may be waiting to be attached
    input_.set({});
    output_.set({});
    std::size_t count = 0;
    for (std::size_t i = live_; i-- > 0;) {
        if (i >= live_)
            continue;  // others went with one
        pipe_end &pipe = *pipes_[i];
        if (!pipe.slot.endpoint || *pipe.slot.endpoint != endpoint || pipe.is_closed())
            continue;
        // that one's last words
        const bool is_kept = what == unread_input::kept || pipe.is_peer_closed();
        if (!is_kept || !read_to_the_end(pipe)) {
            end_pipe(pipe);
        }
        ++count;
    }
    count += std::erase_if(untaken_, [&](const mailbox::command &what) {
        const bool is_theirs = what.pipe->slot.endpoint && *what.pipe->slot.endpoint == endpoint;
        if (is_theirs)
            turn_away(*what.pipe);
        return is_theirs;
    });
    return count;
}

/// Ends a pipe as if the other side had ended it: nothing is sent on it any more, what it brought
/// is still to be read. False when there is no memory.
bool pipe_table::read_to_the_end(pipe_end &pipe) noexcept {
    pipe.read_on();
    try {
        if (!pipe.slot.is_ending())
            pattern_->on_closed(pipe);
    } catch (...) {
        return false;
    }
    pipe.close(around_.options.linger_ms);  // if there was nothing to read, it is closed already
    return true;
}

void pipe_table::request_stop() noexcept {
    stop_requested_.store(true, std::memory_order_relaxed);
    (void)around_.inbox.post({mailbox::command_kind::stop, nullptr});
}

void pipe_table::close() noexcept {
    phase_ = phase::closed;
    while (live_ > 0) {
        pipe_end &pipe = *pipes_[live_ - 1];
        end_pipe(pipe);
    }
    for (const mailbox::command &what : untaken_)
        turn_away(*what.pipe);
    untaken_.clear();
}

void pipe_table::apply_marks() {
    for (const pipe_end_ptr &pipe : live()) {
        pipe->set_write_hwm(static_cast<std::uint64_t>(around_.options.send_hwm));
        pipe->set_read_hwm(static_cast<std::uint64_t>(around_.options.receive_hwm));
        pipe->set_write_octets(around_.options.send_hwm_octets);
        pipe->set_read_octets(around_.options.receive_hwm_octets);
    }
    // A pipe that was waited for is looked at when the other end says that there is room. Of room
    // made here nobody tells.
    if (live_ > 0)
        rescan_pipes_later();
}

void pipe_table::look_for_input(pipe_end &pipe) noexcept {
    try {
        pattern_->on_readable(pipe);
    } catch (...) {
        rescan_pipes_later();
    }
}

void pipe_table::look_for_room(pipe_end &pipe) noexcept {
    try {
        pattern_->on_writable(pipe);
    } catch (...) {
        rescan_pipes_later();
    }
}

error pipe_table::enter_beside() noexcept {
    bool has_news = false;
    const error e = enter(has_news);
    if (has_news)
        raise_exported();
    return e;
}

void pipe_table::export_level() noexcept {
    if (level_ == level::unseen)
        level_ = level::exported;
    borrower::return_all(live());
    around_.inbox.keep_signalling(around_.blocking);
}

}  // namespace zlink
