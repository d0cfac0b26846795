// The application's half of a socket; see socket.hpp.
#include "socket/socket.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <poll.h>
#include <utility>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "socket/options.hpp"
#include "zmq.h"

namespace zlink {

namespace {

/// A received body is referenced instead of copied from this size on, if it is not a small part of what it would pin.
constexpr std::size_t least_referenced = 4096;
constexpr std::size_t most_pinned_per_octet = 8;

/// The memory of a zmq_recv is offered to the connection from this size on.
constexpr std::size_t least_offered = 128 * 1024;

/// Whether a pattern gives the frames of its peer to the application as they come, and keeps none that it has read. Others may have the body at
/// hand while the caller's memory gets an address.
bool gives_frames_as_they_come(socket_type type) noexcept {
    return type == socket_type::pull || type == socket_type::pair || type == socket_type::dealer ||
           type == socket_type::sub;
}

/// How many full pipes a blocked sender writes out itself, and of how many a thread that waits writes what is left in them.
constexpr std::size_t most_written_out = 8;
constexpr std::size_t most_pipes_flushed = 4;

/// Octets that a sender may be ahead of who takes them, and how long it waits for that one.
constexpr std::size_t most_ahead = 4 * 1024 * 1024;
constexpr std::size_t most_ahead_in_memory = 4 * most_ahead;     // of a socket of the same process
constexpr std::size_t most_ahead_of_large = 1024 * 1024 + 1024;  // in large bodies, with headers
constexpr std::size_t most_nearer = 1024 * 1024;                 // at a time
constexpr std::size_t octets_per_look = 32;
constexpr std::chrono::milliseconds longest_lag_wait{1};
constexpr std::chrono::milliseconds memory_look{1};  // until memory that there was not is asked for again
constexpr int least_timeout_to_wait_ms = 20;         // a shorter one would be overrun
// Each is a write or read in vain, of half a microsecond. Together: the time in which a reader takes what an ipc stream holds,
// and in which the next piece of a large frame arrives.
constexpr std::size_t looks_for_room = 200;
constexpr std::size_t looks_for_rest = 100;
constexpr std::size_t calls_per_yield = 8;  // who is waited for may wait for this processor
// Together some 30 us: what it costs to sleep and to be woken. Who looks for longer spends more than who sleeps at once.
constexpr int looks_for_answer = 6;
constexpr int looks_of_a_kind = 3;
constexpr unsigned pauses_before_look = 128;  // some microseconds
// A look at memory, and as long a pause. Together: the time in which a peer in the same process takes or writes half a mark of
// small messages.
constexpr std::size_t looks_for_peer = 1000;

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
        frame.size >= least_referenced && frame.size >= frame.owner_size / most_pinned_per_octet;
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

}  // namespace

socket::socket(const settings &defaults, const socket_environment &environment)
    : options_(defaults), environment_(environment), pace_(environment.clock, environment.blocking),
      borrower_(environment.clock), mailbox_(std::make_shared<mailbox>()),
      monitor_(std::make_shared<monitor>()), subscriptions_(std::make_shared<subscription_set>()),
      pipes_({options_, environment.blocking, pace_, borrower_, *mailbox_}) {}

std::unique_ptr<socket> socket::make(const settings &defaults, const socket_environment &environment) {
    std::unique_ptr<socket> made(new socket(defaults, environment));
    const pattern_environment inner{made->options_, made->pipes_, environment.pool, environment.random,
                                    made->subscriptions_};
    made->pattern_ = make_pattern(inner);
    if (!made->pattern_) {
        made->pipes_.close();  // nobody knows of the socket
        return nullptr;
    }
    made->pipes_.set_pattern(*made->pattern_);
    return made;
}

socket::~socket() { close(); }

// ---- Messages ----------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline error socket::send_frame(const outgoing &frame, int flags) {
    pipes_.leave_direct_output();
    if (pipes_.input().is_in_message())
        pipes_.leave_direct_input();
    if (const error e = pipes_.take_commands(); failed(e))
        return e;
    error waited_for_peer = error::none;
    const bool is_backlog_check_due = pipes_.size() == 1 && pipes_.first().is_backlog_check_due();
    if (__builtin_expect(is_backlog_check_due, 0))
        pipes_.first().begin_backlog_window();
    if (__builtin_expect(is_backlog_check_due || frame.body.size() >= pipe_end::counted_in_octets_from, 0)) {
        const bool may_wait =
            !(flags & ZMQ_DONTWAIT) &&
            (options_.send_timeout_ms < 0 || options_.send_timeout_ms >= least_timeout_to_wait_ms);
        pace_.set_may_wait(may_wait);
        // Nobody else may be kept from getting something meanwhile. The last frame of a message decides.
        pace_.set_may_wait_longer(may_wait && !frame.more && limits_backlog_ && !pipes_.is_exported() &&
                                  pipes_.size() == 1 && !pattern_->drops());
        if (may_wait && limits_backlog_)
            waited_for_peer = wait_for_lagging_peer(frame);
    }
    try {
        error e = pattern_->send(frame);
        if (__builtin_expect(e == error::again, 0))
            e = failed(waited_for_peer) ? waited_for_peer : retry_send(frame, flags);
        if (pipes_.size() == 1 && !failed(e) && options_.max_sent_size == SIZE_MAX)
            pipes_.output().set(pattern_->direct_output());
        return e;
    } catch (const std::exception &) {  // the end of a cancelled thread passes here, too
        return error::no_memory;
    }
}

[[gnu::always_inline]] inline error socket::next_frame(frame_view &out, int flags) {
    pipes_.leave_direct_input();
    // An XPUB that receives may learn that its peer does not want everything any more.
    if (pipes_.output().is_in_message() || options_.type == socket_type::xpub)
        pipes_.leave_direct_output();
    if (const error e = pipes_.take_commands(); failed(e))
        return e;
    try {
        error e = pattern_->receive(out);
        if (__builtin_expect(e == error::again, 0))
            e = retry_receive(out, flags);
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
    return send_frame(frame, flags);
}

error socket::send_constant(byte_span body, int flags) {
    if (body.size() > options_.max_sent_size)
        return error::message_too_big;
    outgoing frame;
    frame.body = body;
    frame.more = flags & ZMQ_SNDMORE;
    frame.is_constant = true;
    return send_frame(frame, flags);
}

error socket::send(message &what, int flags) {
    if (!what.is_valid())
        return error::fault;
    const bool stays =
        what.owner() && pipes_.size() > 0 && what.size() >= pipes_.first().reference_threshold();
    if (!what.is_lent() && !stays && !mailbox_->has_commands() &&
        pipes_.output().put(what.body(), flags & ZMQ_SNDMORE)) {
        (void)what.close();
        what.init();
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
    if (const error e = send_frame(frame, flags); failed(e))
        return e;
    (void)what.close();
    what.init();
    return error::none;
}

error socket::receive_copy(void *buffer, std::size_t capacity, std::size_t &size, int flags) {
    frame_view frame;
    const bool is_large = capacity >= least_offered && gives_frames_as_they_come(options_.type);
    const error e = __builtin_expect(is_large, 0)
                        ? next_frame_into({static_cast<std::uint8_t *>(buffer), capacity}, frame, flags)
                        : next_frame(frame, flags);
    if (failed(e))
        return e;
    size = frame.size;
    if (const std::size_t taken = std::min(capacity, frame.size); taken > 0 && frame.data != buffer)
        std::memcpy(buffer, frame.data, taken);
    release_lone(frame);
    return error::none;
}

/// As next_frame(). The frame may be read straight into the caller's memory, which is left alone afterwards.
error socket::next_frame_into(std::span<std::uint8_t> memory, frame_view &out, int flags) {
    offered_ = memory;
    const std::uint8_t *given = nullptr;
    const finally over([&] { end_offer(given); });
    const error e = next_frame(out, flags);
    if (!failed(e))
        given = out.data;
    return e;
}

/// What has been read into the caller's memory and is not what the caller gets has to stand elsewhere before that returns.
void socket::end_offer(const std::uint8_t *given) noexcept {
    const std::uint8_t *const place = std::exchange(offered_, {}).data();
    if (borrower_.take_filled() && given != place)
        for (const pipe_end_ptr &pipe : pipes_.live())
            while (!pipe->own_body(place))  // it stands nowhere else: without memory this waits
                (void)environment_.blocking.wait({}, environment_.clock.now() + memory_look);
}

error socket::send(const outgoing &frame, int flags) { return send_frame(frame, flags); }

error socket::receive(frame_view &out, int flags) { return next_frame(out, flags); }

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
    } else if (const error e = next_frame(frame, flags); failed(e)) {
        return e;
    }
    message received;
    if (const error e = fill(received, frame); failed(e))
        return e;
    received.set_more(frame.has_more());
    received.set_info(frame.info);
    return out.move_from(received);
}

error socket::retry_send(const outgoing &frame, int flags) {
    platform::end_if_cancelled();
    const bool may_wait = !(flags & ZMQ_DONTWAIT) && options_.send_timeout_ms != 0;
    if (!may_wait)
        return pipes_.is_exported() && pattern_->arm(false, true) ? pattern_->send(frame) : error::again;
    if (write_out()) {
        if (const error e = pipes_.enter(); failed(e))
            return e;
        if (const error e = pattern_->send(frame); e != error::again)
            return e;
    }
    const time_point deadline = deadline_after(options_.send_timeout_ms);
    for (;;) {
        const error waited = wait_for(ZMQ_POLLOUT, deadline);
        if (failed(waited) && waited != error::again)
            return waited;
        // What came with the last moment still counts.
        const error e = pattern_->send(frame);
        if (e != error::again || waited == error::again)
            return e;
    }
}

/// Bodies that one processor copies into memory, and another one out of it, are several times slower to move once more of them
/// are under way than caches hold, and slower still in memory that nobody has used before. A sender that is far ahead loses
/// nothing by waiting a moment for who takes them. It goes on then: the mark is what holds it up. Only a body that moves from one
/// socket to another of the process is not copied.
error socket::wait_for_lagging_peer(const outgoing &frame) {
    if (pipes_.size() != 1)
        return error::none;
    pipe_end &peer = pipes_.first();
    const std::size_t size = frame.body.size();
    const bool is_large = size >= pipe_end::counted_in_octets_from;
    const auto ahead = [&] { return is_large ? peer.large_under_way() : peer.under_way(); };
    const std::size_t most = is_large              ? most_ahead_of_large
                             : peer.slot.is_inproc ? most_ahead_in_memory
                                                   : most_ahead;
    const std::uint64_t before = ahead();
    const bool is_copied = !peer.slot.is_inproc || !travels_by_reference(frame, peer.reference_threshold());
    if (before <= most || !is_copied || pipes_.is_exported() || peer.is_conflating() ||
        !environment_.blocking.may_spin() || pattern_->drops())
        return error::none;
    // From far ahead it comes nearer step by step.
    const std::uint64_t near =
        before - std::min<std::uint64_t>(before - most, is_large ? 2 * size : most_nearer);
    const auto is_near = [&] { return ahead() <= near || mailbox_->has_commands(); };
    pipes_.leave_direct_input();
    borrower_.begin(pipes_.live(), true);
    if (borrower_.size() == 0) {
        return_leases();
        note_wait_over(environment_.clock.now());
        (void)lag_patience_.look_for((is_large ? std::min(size, most_nearer) : most_nearer) / octets_per_look,
                                     is_near);
        return error::none;
    }
    // Who keeps a connection also reads it: what comes may have to go to the I/O thread.
    (void)borrower_.read_all();
    if (borrower_.is_held_up() && !spin_for_room(is_near) && !lag_patience_.take_skip() &&
        !borrower_.read_more()) {
        const error e = sleep(environment_.clock.now() + longest_lag_wait);
        lag_patience_.note(ahead() <= near);
        return e == error::interrupted ? e : error::none;
    }
    return_leases();
    note_wait_over(environment_.clock.now());
    return error::none;
}

/// Writes on this thread what fills the pipes: room by the shortest way. True when there may be some.
bool socket::write_out() noexcept {
    bool is_done = false;
    for (std::size_t i = 0; i < pipes_.size() && i < most_written_out; ++i) {
        if (!pipes_.live()[i]->has_credit())
            is_done |= pipes_.live()[i]->write_now();
    }
    return is_done;
}

/// Who was sending and now looks for something else wants out what the I/O thread would write only later. One who sends to many
/// does not write for itself.
void socket::flush_remainder() noexcept {
    if (pipes_.size() > most_pipes_flushed)
        return;
    for (const pipe_end_ptr &pipe : pipes_.live())
        pipe->flush_remainder();
}

error socket::retry_receive(frame_view &out, int flags) {
    platform::end_if_cancelled();
    const bool may_wait = !(flags & ZMQ_DONTWAIT) && options_.receive_timeout_ms != 0;
    if (!may_wait) {
        flush_remainder();
        const bool found = pipes_.is_exported() ? pattern_->arm(true, false) : read_leased();
        return found ? pattern_->receive(out) : error::again;
    }
    const time_point deadline = deadline_after(options_.receive_timeout_ms);
    for (;;) {
        const error waited = wait_for(ZMQ_POLLIN, deadline);
        if (failed(waited) && waited != error::again)
            return waited;
        const error e = pattern_->receive(out);
        if (e != error::again || waited == error::again)
            return e;
    }
}

// ---- Waiting -----------------------------------------------------------------------------------------------

time_point socket::deadline_after(int timeout_ms) const noexcept {
    if (timeout_ms < 0)
        return time_point::max();
    return environment_.clock.now() + std::chrono::milliseconds(timeout_ms);
}

/// Sleeps until there may be something new: none. `again` once the deadline has passed.
error socket::wait_for(short wanted, time_point deadline) {
    error e = error::none;
    if (borrow(wanted, true, deadline) || arm(wanted)) {
        const time_point now = environment_.clock.now();
        return_leases();
        note_wait_over(now);
        if (now >= deadline)
            e = error::timed_out;
    } else {
        e = sleep(deadline);
    }
    if (failed(e) && e != error::timed_out)
        return e;
    const error entered = pipes_.enter();
    return failed(entered) || !failed(e) ? entered : error::again;
}

/// Waits for the mailbox and what is borrowed, and ends the borrowing.
error socket::sleep(time_point deadline) {
    const finally over([this] {
        return_leases();
        note_wait_over(environment_.clock.now());
    });
    const wakeup *level = nullptr;
    error e = wait_level(level);
    bool is_ready = false;
    do {
        e = sleep_once(level, deadline, e, is_ready);
    } while (is_ready && fills_offer(deadline));
    return e;
}

/// Whether the caller's memory holds part of a body after all that could be read was, and there is time for the rest.
bool socket::fills_offer(time_point deadline) noexcept {
    while (borrower_.fills_offer() && !mailbox_->has_commands() && !environment_.clock.has_passed(deadline)) {
        if (!borrower_.read_more() && !spin_before_sleep(ZMQ_POLLIN, true)) {
            borrower_.list_again();
            return borrower_.fills_offer() && !mailbox_->has_commands();
        }
    }
    return false;
}

error socket::sleep_once(const wakeup *level, time_point deadline, error e, bool &is_ready) {
    is_ready = false;
    wait_item *items = room_for_waits(1 + leased());
    if (!failed(e) && items && begin_wait()) {
        items[0] = {level->descriptor(), POLLIN, 0, level, level->opening()};
        const std::size_t listed = list_leased(&items[1], environment_.clock.now());
        {
            const finally woken([this] { end_wait(); });
            e = environment_.blocking.wait_as_caller({items, 1 + listed}, deadline);
        }
        is_ready = !failed(e);
    } else if (!failed(e) && environment_.clock.has_passed(deadline)) {
        e = error::timed_out;  // something is always there while memory is short
    }
    if (is_ready)
        go_on_with_leased(environment_.clock.now());
    return e;
}

bool socket::borrow(short wanted, bool is_alone, time_point deadline) noexcept {
    if (wanted & ZMQ_POLLIN)
        flush_remainder();  // a sender that waits for room is in its stream still
    if (!(wanted & (ZMQ_POLLIN | ZMQ_POLLOUT)) || pipes_.is_exported())
        return false;
    borrower_.begin(pipes_.live(), true);
    if (borrower_.size() == 0)
        return is_alone && spin_for_peer(wanted);
    if (__builtin_expect(!offered_.empty(), 0) && pipes_.size() == 1 && environment_.blocking.may_spin())
        borrower_.offer(offered_);
    do {
        // A look reads, too.
        if (!borrower_.read_more() && !spin_before_sleep(wanted, is_alone) && !borrower_.read_more())
            return false;
    } while (borrower_.fills_offer() && !mailbox_->has_commands() &&
             !environment_.clock.has_passed(deadline));
    return_leases();
    return true;
}

/// Whether what is waited for comes within moments. With what is borrowed in use.
bool socket::spin_before_sleep(short wanted, bool is_alone) noexcept {
    if (borrower_.size() != 1)
        return false;
    if (wanted == ZMQ_POLLIN && try_read_first())
        return true;
    if (!environment_.blocking.may_spin())
        return false;
    if (wanted == ZMQ_POLLOUT) {
        // Room must be what is missing: a REQ may have all of it, and await its reply.
        if (pipes_.size() != 1 || pipes_.first().has_credit() ||
            !spin_for_room([this] { return pipes_.first().has_credit() || mailbox_->has_commands(); }))
            return false;
        (void)borrower_.read_all();  // as in wait_for_lagging_peer()
        return true;
    }
    if (wanted != ZMQ_POLLIN)
        return false;
    if (!borrower_.expects_large())
        return is_alone && spin_for_answer();
    // Each piece of a large frame would wake a sleeper.
    return rest_patience_.look_for(looks_for_rest, [this] {
        return borrower_.is_recalled() || borrower_.read_all() || mailbox_->has_commands();
    });
}

/// Whether the one peer, a socket of this process, soon does what is waited for. While both sides are at work neither should
/// sleep: to be woken takes longer than half a mark of messages.
bool socket::spin_for_peer(short wanted) noexcept {
    const bool reads = wanted == ZMQ_POLLIN;
    if (pipes_.size() != 1 || !pipes_.first().slot.is_inproc || (!reads && wanted != ZMQ_POLLOUT))
        return false;
    // While commands wait, the pattern may keep a frame of the pipe's that it had no memory for: has_input() would end its life.
    if (mailbox_->has_commands())
        return false;
    pipe_end &pipe = pipes_.first();
    const auto is_there = [&] { return reads ? pipe.has_input() : pipe.has_credit(); };
    // It must be what is missing: a REQ may have room, and await its reply.
    if (is_there() || !environment_.blocking.may_spin() ||
        !peer_patience_.look_for(looks_for_peer, [&] { return mailbox_->has_commands() || is_there(); }))
        return false;
    if (reads)
        pipes_.look_for_input(pipe);
    else
        pipes_.look_for_room(pipe);
    return true;
}

/// A thread that did not have to wait last time need not ask whether it has to this time: it reads, and saves the wait.
bool socket::try_read_first() noexcept {
    if (!borrower_.had_short_wait() || input_patience_.take_skip())
        return false;
    const bool is_found = borrower_.read_all();
    input_patience_.note(is_found);
    if (is_found)
        pace_.note_wait();  // as good as one: what came is most likely an answer
    return is_found;
}

/// Whether what this thread is mostly woken for comes soon. Being woken costs both sides several times what a look costs; but
/// a look disturbs the sender, and so there is a pause before each.
bool socket::spin_for_answer() noexcept {
    if (pipes_.size() != 1 || !borrower_.was_woken_for_little() || peer_patience_.take_skip())
        return false;
    unsigned pauses = pauses_before_look;
    for (int looks = 1; looks <= looks_for_answer; ++looks) {
        patience::pause(pauses);
        borrower_.write_full();
        if (borrower_.is_ready(environment_.blocking) && borrower_.read_all()) {
            peer_patience_.note(true);
            borrower_.note_answer();
            pace_.note_wait();  // as in try_read_first()
            return true;
        }
        if (mailbox_->has_commands() || borrower_.is_recalled())
            return false;
        if (looks % looks_of_a_kind == 0)
            pauses *= 2;
    }
    peer_patience_.note(false);
    return false;
}

/// A full stream takes more as soon as its reader has taken something, but wakes a sleeper only when it is three quarters empty
/// (ipc). A sender that writes again and again until then keeps both sides at work.
template <class IsThere>
bool socket::spin_for_room(IsThere &&is_there) noexcept {
    return room_patience_.look_for(
        looks_for_room,
        [&] {
            borrower_.write_full();
            return is_there();
        },
        calls_per_yield);
}

void socket::return_leases() noexcept {
    borrower_.end([this](pipe_end &pipe) {
        if (pipe.slot.is_attached)
            pipes_.look_for_input(pipe);
    });
}

/// Null when memory is short.
wait_item *socket::room_for_waits(std::size_t count) noexcept {
    try {
        if (waits_.size() < count)
            waits_.resize(count);
        return waits_.data();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

/// Reads without waiting what is leased, for callers that do not wait.
bool socket::read_leased() noexcept {
    borrower_.begin(pipes_.live(), false);
    const bool found = leased() > borrower::few_pipes ? read_ready() : borrower_.read_all();
    return_leases();
    return found;
}

/// Asks first which of many have something.
bool socket::read_ready() noexcept {
    if (borrower_.read_more())
        return true;
    wait_item *items = room_for_waits(leased());
    if (!items)
        return borrower_.read_all();
    const std::size_t listed = list_leased(items, environment_.clock.now());
    const error e = environment_.blocking.wait({items, listed}, time_point::min());
    if (e == error::timed_out)
        return false;
    return failed(e) ? borrower_.read_all() : borrower_.go_on(environment_.clock.now());
}

bool socket::has_direct_input() noexcept { return !mailbox_->has_commands() && pipes_.input().has_message(); }

error socket::events(short wanted, short &ready, bool reads) noexcept {
    ready = 0;
    if (wanted == ZMQ_POLLIN && has_direct_input()) {
        ready = ZMQ_POLLIN;
        return error::none;
    }
    if (const error e = pipes_.enter(); failed(e))
        return e;
    if (reads)
        flush_remainder();
    try {
        if ((wanted & ZMQ_POLLIN) &&
            (pattern_->has_input() || (reads && read_leased() && pattern_->has_input())))
            ready |= ZMQ_POLLIN;
        if ((wanted & ZMQ_POLLOUT) && pattern_->has_output())
            ready |= ZMQ_POLLOUT;
    } catch (...) {
        return error::no_memory;
    }
    return error::none;
}

bool socket::arm(short wanted) noexcept {
    // Who has armed this socket already, for other events, must hear of what is taken in now.
    const bool has_news = mailbox_->has_commands();
    if (failed(pipes_.enter()))
        return true;
    try {
        return pattern_->arm(wanted & ZMQ_POLLIN, wanted & ZMQ_POLLOUT) || has_news;
    } catch (...) {
        return true;
    }
}

error socket::wait_level(const wakeup *&out) noexcept {
    out = mailbox_->level();
    if (out)
        return error::none;
    const error e = mailbox_->make_wakeup(environment_.blocking);
    out = mailbox_->level();
    return e;
}

// ---- Life --------------------------------------------------------------------------------------------------

void socket::stop() noexcept { pipes_.request_stop(); }

void socket::close() noexcept {
    if (pipes_.is_closed())
        return;
    (void)pipes_.process_commands();
    pipes_.close();
    environment_.endpoints.close_all(*this);
    mailbox_->close();
    monitor_->publish_on(nullptr, 0);
}

}  // namespace zlink
