// The application's half of a socket; see socket.hpp.
//
// Map:      messages; life.
#include "socket/socket.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <poll.h>
#include <utility>

#include "core/finally.hpp"
#include "core/numbers.hpp"
#include "core/platform.hpp"
#include "pipe/room_wait.hpp"
#include "socket/options.hpp"
#include "zmq.h"

namespace zlink {

namespace {

/// A received body is referenced instead of copied from this size on, if it is not a small part of
/// what it would pin.
constexpr std::size_t referenced_from = 4096;
constexpr std::size_t most_octets_pinned_for_one = 8;

/// The memory of a zmq_recv is offered to the connection from this size on.
constexpr std::size_t offered_from = 128 * 1024;

/// Whether a pattern gives the frames of its peer to the application as they come, and keeps none
/// that it has read. Others may have the body at hand while the caller's memory gets an address.
bool gives_frames_as_they_come(socket_type type) noexcept {
    return type == socket_type::pull || type == socket_type::pair || type == socket_type::dealer ||
           type == socket_type::sub;
}

/// A sender with a shorter timeout waits for no peer that lags: it would be overrun.
constexpr int least_timeout_to_wait_ms = 20;

/// Gives back the memory of a body that was copied out, when nothing else lives there.
void release_lone(const frame_view &frame) noexcept {
    if (frame.lone_owner) {
        if (block *owner = std::exchange(*frame.lone_owner, nullptr))
            owner->release();
    }
}

/// Makes `out`, which is not initialised, hold the body of a frame.
error fill(message &out, const frame_view &frame) noexcept {
    // A small one, too: who lends a body over inproc may mean that very memory to arrive.
    if (frame.lone_owner && *frame.lone_owner) {
        out.init_shared(block_ref::adopt(std::exchange(*frame.lone_owner, nullptr)), frame.body());
        return error::none;
    }
    if (frame.size <= message::max_inline) {
        (void)out.init_copy(frame.body());
        return error::none;
    }
    const bool is_worth_it =
        frame.size >= referenced_from && frame.size >= frame.owner_size / most_octets_pinned_for_one;
    if (frame.owner && is_worth_it) {
        out.init_shared(block_ref::share(frame.owner), frame.body());
        return error::none;
    }
    const error e = out.init_copy(frame.body());
    if (failed(e) && frame.owner) {
        out.init_shared(block_ref::share(frame.owner), frame.body());
        return error::none;
    }
    return e;
}

void empty(message &what) noexcept {
    (void)what.close();
    what.init();
}

}  // namespace

socket::socket(const settings &defaults, const socket_environment &environment)
    : options_(defaults), environment_(environment), pace_(environment.clock, environment.blocking),
      borrower_(environment.clock, environment.blocking), mailbox_(std::make_shared<mailbox>()),
      monitor_(std::make_shared<monitor>(environment.log, socket_type_name(defaults.type))),
      subscriptions_(std::make_shared<subscription_set>()),
      counts_(std::make_shared<counters>(environment.whole)), gone_(std::make_shared<departures>()),
      pipes_({options_, environment.blocking, pace_, borrower_, *mailbox_, *counts_, *monitor_}),
      wait_({pipes_, borrower_, *mailbox_, pace_, environment.blocking, environment.clock}) {
    label_.number = new_number.sockets.next();
}

std::unique_ptr<socket> socket::make(const settings &defaults, const socket_environment &environment) {
    std::unique_ptr<socket> made(new socket(defaults, environment));
    made->pattern_ = made->make_pattern();
    if (!made->pattern_) {
        made->pipes_.close();  // nobody knows of the socket
        return nullptr;
    }
    made->pipes_.set_pattern(*made->pattern_);
    return made;
}

socket::~socket() { close(); }

std::unique_ptr<pattern> socket::make_pattern() {
    return zlink::make_pattern(
        {options_, pipes_, environment_.pool, environment_.random, subscriptions_, counts_.get()});
}

// ---- Messages -----------------------------------------------------------------------------------

error socket::send(const outgoing &frame, int flags) {
    pipes_.leave_direct_output();
    if (pipes_.input().is_in_message())
        pipes_.leave_direct_input();
    if (const error e = pipes_.take_commands(); failed(e))
        return e;
    error waited_for_peer = error::none;
    std::optional<room_wait> room;
    const bool is_backlog_check_due = pipes_.size() == 1 && pipes_.first().backlog().is_check_due();
    if (__builtin_expect(is_backlog_check_due, 0))
        pipes_.first().backlog().begin_window();
    if (__builtin_expect(is_backlog_check_due || frame.body.size() >= pipe_end::counted_in_octets_from, 0)) {
        const bool may_wait =
            !(flags & ZMQ_DONTWAIT) &&
            (options_.send_timeout_ms < 0 || options_.send_timeout_ms >= least_timeout_to_wait_ms);
        pace_.set_may_wait(may_wait);
        // Nobody else may be kept from getting something meanwhile. The last frame of a message
        // decides.
        const bool may_wait_for_room = may_wait && !frame.more && limits_backlog_ && !pipes_.is_exported() &&
                                       pipes_.size() == 1 && !pattern_->drops();
        if (may_wait_for_room)
            room.emplace(pace_, deadline_in(options_.send_timeout_ms));
        if (may_wait && limits_backlog_)
            waited_for_peer = wait_for_lagging_peer(frame);
    }
    try {
        error e = pattern_->send(frame);
        if (__builtin_expect(e == error::again, 0))
            e = failed(waited_for_peer) ? waited_for_peer : retry_send(frame, flags);
        if (__builtin_expect(room.has_value(), 0) && room->is_needed())
            wait_for_room(*room);
        if (pipes_.size() == 1 && !failed(e) && options_.max_sent_size == SIZE_MAX)
            pipes_.output().set(pattern_->direct_output());
        return e;
    } catch (const std::exception &) {  // the end of a cancelled thread passes here, too
        return error::no_memory;
    }
}

error socket::receive(frame_view &out, int flags, message *replaced) {
    pipes_.leave_direct_input();
    // An XPUB that receives may learn that its peer does not want everything any more.
    if (pipes_.output().is_in_message() || options_.type == socket_type::xpub)
        pipes_.leave_direct_output();
    if (const error e = pipes_.take_commands(); failed(e))
        return e;
    try {
        error e = pattern_->receive(out);
        if (__builtin_expect(e == error::again, 0)) {
            if (replaced)
                empty(*replaced);
            e = retry_receive(out, flags);
        }
        if (failed(e))
            return e;
        received_more_ = out.has_more();
        if (pipes_.size() == 1 && !received_more_)
            pipes_.input().set(pattern_->direct_input());
        return e;
    } catch (const std::exception &) {  // as above
        return error::no_memory;
    }
}

error socket::send_copy(byte_span body, int flags) {
    if (__builtin_expect(body.size() > options_.max_sent_size, 0))
        return error::message_too_big;
    outgoing frame;
    frame.body = body;
    frame.more = flags & ZMQ_SNDMORE;
    return send(frame, flags);
}

error socket::send_constant(byte_span body, int flags) {
    if (body.size() > options_.max_sent_size)
        return error::message_too_big;
    outgoing frame;
    frame.body = body;
    frame.more = flags & ZMQ_SNDMORE;
    frame.is_constant = true;
    return send(frame, flags);
}

error socket::send(message &what, int flags) {
    if (!what.is_valid())
        return error::fault;
    const bool stays =
        what.owner() && pipes_.size() > 0 && what.size() >= pipes_.first().reference_threshold();
    if (!what.is_lent() && !stays && !mailbox_->has_commands() &&
        pipes_.output().put(what.body(), flags & ZMQ_SNDMORE)) {
        empty(what);
        return error::none;
    }
    if (__builtin_expect(what.size() > options_.max_sent_size, 0))
        return error::message_too_big;
    outgoing frame;
    frame.body = what.body();
    frame.more = flags & ZMQ_SNDMORE;
    frame.owner = what.owner();
    frame.is_constant = what.is_constant();
    frame.is_lent = what.is_lent();
    if (const error e = send(frame, flags); failed(e))
        return e;
    empty(what);
    return error::none;
}

error socket::receive_copy(void *buffer, std::size_t capacity, std::size_t &size, int flags) {
    frame_view frame;
    const bool is_large = capacity >= offered_from && gives_frames_as_they_come(options_.type);
    const error e = __builtin_expect(is_large, 0)
                        ? receive_into({static_cast<std::uint8_t *>(buffer), capacity}, frame, flags)
                        : receive(frame, flags);
    if (failed(e))
        return e;
    size = frame.size;
    if (const std::size_t taken = std::min(capacity, frame.size); taken > 0 && frame.data != buffer) {
        const bool is_large_copy = taken >= offered_from;
        const time_point begun = is_large_copy ? environment_.clock.now() : time_point();
        std::memcpy(buffer, frame.data, taken);
        if (is_large_copy)
            wait_.note_copying(environment_.clock.now() - begun);
    }
    release_lone(frame);
    return error::none;
}

/// Does receive(). The frame may be read straight into the caller's memory, which is left alone
/// afterwards.
error socket::receive_into(std::span<std::uint8_t> memory, frame_view &out, int flags) {
    wait_.offer(memory);
    const std::uint8_t *given = nullptr;
    const finally over([&] { wait_.end_offer(given); });
    const error e = receive(out, flags);
    if (!failed(e))
        given = out.data;
    return e;
}

error socket::receive(message &out, int flags) {
    if (!out.is_valid())
        return error::fault;
    frame_view frame;
    short_frame direct;
    bool more = false;
    if (!mailbox_->has_commands() && pipes_.input().take(direct, more)) {
        received_more_ = more;
        frame.data = direct.data;
        frame.size = direct.size;
        frame.flags = more ? frame_flag::more : 0;
        frame.owner = direct.owner;
        frame.owner_size = direct.owner_size;
        frame.info = direct.info;
    } else if (const error e = receive(frame, flags, &out); failed(e)) {
        return e;
    }
    message received;
    if (const error e = fill(received, frame); failed(e))
        return e;
    received.set_more(frame.has_more());
    received.set_info(frame.info);
    return out.move_from(received);
}

// ---- Life ---------------------------------------------------------------------------------------

void socket::stop() noexcept { pipes_.request_stop(); }

std::string socket::name() const {
    std::lock_guard guard(label_mutex_);
    if (!label_.given.empty())
        return label_.given;
    const std::string number = '#' + std::to_string(label_.number);
    return label_.endpoint.empty() ? number : number + ' ' + label_.endpoint;
}

void socket::add_to(stats &traffic, stats &counted) const noexcept {
    pipes_.add_to(traffic, counted);
    if (options_.type == socket_type::sub || options_.type == socket_type::xsub)
        traffic.subscriptions += subscriptions_->size();
    ++traffic.sockets;
}

void socket::close() noexcept {
    if (pipes_.is_closed())
        return;
    environment_.endpoints.stop_listening(*this);
    (void)pipes_.process_commands();
    pipes_.close();
    environment_.endpoints.close_all(*this);
    for (const mailbox::command &late : mailbox_->close())
        pipes_.turn_away(*late.pipe);
    counts_->add_descriptors(-descriptors_of_loops());
    monitor_->publish_on(nullptr, 0);
}

}  // namespace zlink
