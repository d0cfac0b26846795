// What a socket's thread does for the socket while it waits; see socket_wait.hpp.
#include "socket/socket_wait.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "zmq.h"

namespace zlink {

namespace {

/// How many full pipes a blocked sender writes out itself, and of how many a thread that waits writes what is left in them.
constexpr std::size_t most_written_out = 8;
constexpr std::size_t most_pipes_flushed = 4;

constexpr std::size_t octets_per_look = 32;
constexpr std::chrono::milliseconds memory_look{1};  // until memory that there was not is asked for again
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

}  // namespace

bool socket_wait::write_out() noexcept {
    bool is_done = false;
    const auto pipes = pipes_.live();
    for (const pipe_end_ptr &pipe : pipes.first(std::min(pipes.size(), most_written_out))) {
        if (!pipe->has_credit())
            is_done |= pipe->write_now();
    }
    return is_done;
}

/// One who sends to many does not write for itself.
void socket_wait::flush_remainder() noexcept {
    if (pipes_.size() > most_pipes_flushed)
        return;
    for (const pipe_end_ptr &pipe : pipes_.live())
        pipe->flush_remainder();
}

bool socket_wait::fills_offer(time_point deadline) noexcept {
    while (leases_.fills_offer() && !pipes_.has_commands() && !clock_.has_passed(deadline)) {
        if (!leases_.read_more() && !spin_before_sleep(ZMQ_POLLIN, true)) {
            leases_.list_again();
            return leases_.fills_offer() && !pipes_.has_commands();
        }
    }
    return false;
}

bool socket_wait::borrow(short wanted, bool is_alone, time_point deadline) noexcept {
    if (wanted & ZMQ_POLLIN)
        flush_remainder();  // a sender that waits for room is in its stream still
    if (!(wanted & (ZMQ_POLLIN | ZMQ_POLLOUT)) || pipes_.is_exported())
        return false;
    leases_.begin(pipes_.live(), true);
    if (leases_.size() == 0)
        return is_alone && spin_for_peer(wanted);
    if (__builtin_expect(!offered_.empty(), 0) && pipes_.size() == 1 && blocking_.may_spin())
        leases_.offer(offered_);
    do {
        // A look reads, too.
        if (!leases_.read_more() && !spin_before_sleep(wanted, is_alone) && !leases_.read_more())
            return false;
    } while (leases_.fills_offer() && !pipes_.has_commands() && !clock_.has_passed(deadline));
    return_leases();
    return true;
}

/// Whether what is waited for comes within moments. With what is borrowed in use.
bool socket_wait::spin_before_sleep(short wanted, bool is_alone) noexcept {
    if (leases_.size() != 1)
        return false;
    if (wanted == ZMQ_POLLIN && leases_.had_short_wait() && try_read_first())
        return true;
    if (!blocking_.may_spin())
        return false;
    if (wanted == ZMQ_POLLOUT)
        return spin_for_credit();
    if (wanted != ZMQ_POLLIN)
        return false;
    return leases_.expects_large() ? spin_for_rest() : is_alone && spin_for_answer();
}

bool socket_wait::spin_for_credit() noexcept {
    // Room must be what is missing: a REQ may have all of it, and await its reply.
    if (pipes_.size() != 1 || pipes_.first().has_credit() ||
        !spin_for_room([this] { return pipes_.first().has_credit() || pipes_.has_commands(); }))
        return false;
    (void)leases_.read_all();  // as in spin_for_lagging_peer()
    return true;
}

/// Each piece of a large frame would wake a sleeper.
bool socket_wait::spin_for_rest() noexcept {
    return rest_patience_.look_for(looks_for_rest, [this] {
        return leases_.is_recalled() || leases_.read_all() || pipes_.has_commands();
    });
}

/// Whether the one peer, a socket of this process, soon does what is waited for. While both sides are at work neither should
/// sleep: to be woken takes longer than half a mark of messages.
bool socket_wait::spin_for_peer(short wanted) noexcept {
    const bool reads = wanted == ZMQ_POLLIN;
    if (pipes_.size() != 1 || !pipes_.first().slot.is_inproc || (!reads && wanted != ZMQ_POLLOUT))
        return false;
    // While commands wait, the pattern may keep a frame of the pipe's that it had no memory for: has_input() would end its life.
    if (pipes_.has_commands())
        return false;
    pipe_end &pipe = pipes_.first();
    const auto is_there = [&] { return reads ? pipe.has_input() : pipe.has_credit(); };
    // It must be what is missing: a REQ may have room, and await its reply.
    if (is_there() || !blocking_.may_spin() ||
        !peer_patience_.look_for(looks_for_peer, [&] { return pipes_.has_commands() || is_there(); }))
        return false;
    if (reads)
        pipes_.look_for_input(pipe);
    else
        pipes_.look_for_room(pipe);
    return true;
}

/// A thread that did not have to wait last time need not ask whether it has to this time: it reads, and saves the wait.
bool socket_wait::try_read_first() noexcept {
    if (input_patience_.take_skip())
        return false;
    const bool is_found = leases_.read_all();
    input_patience_.note(is_found);
    if (is_found)
        pace_.note_wait();  // as good as one: what came is most likely an answer
    return is_found;
}

/// Whether what this thread is mostly woken for comes soon. Being woken costs both sides several times what a look costs; but
/// a look disturbs the sender, and so there is a pause before each.
bool socket_wait::spin_for_answer() noexcept {
    if (pipes_.size() != 1 || !leases_.was_woken_for_little() || peer_patience_.take_skip())
        return false;
    unsigned pauses = pauses_before_look;
    for (int looks = 1; looks <= looks_for_answer; ++looks) {
        patience::pause(pauses);
        leases_.write_full();
        if (leases_.is_ready(blocking_) && leases_.read_all()) {
            peer_patience_.note(true);
            leases_.note_answer();
            pace_.note_wait();  // as in try_read_first()
            return true;
        }
        if (pipes_.has_commands() || leases_.is_recalled())
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
bool socket_wait::spin_for_room(IsThere &&is_there) noexcept {
    return room_patience_.look_for(
        looks_for_room,
        [&] {
            leases_.write_full();
            return is_there();
        },
        calls_per_yield);
}

wait_item *socket_wait::room_for_waits(std::size_t count) noexcept {
    try {
        if (waits_.size() < count)
            waits_.resize(count);
        return waits_.data();
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

bool socket_wait::read_leased() noexcept {
    leases_.begin(pipes_.live(), false);
    const bool found = leased() > borrower::few_pipes ? read_ready() : leases_.read_all();
    return_leases();
    return found;
}

/// Asks first which of many have something.
bool socket_wait::read_ready() noexcept {
    if (leases_.read_more())
        return true;
    wait_item *items = room_for_waits(leased());
    if (!items)
        return leases_.read_all();
    const std::size_t listed = list_leased(items, clock_.now());
    const error e = blocking_.wait({items, listed}, time_point::min());
    if (e == error::timed_out)
        return false;
    return failed(e) ? leases_.read_all() : leases_.go_on(clock_.now());
}

error socket_wait::events(short wanted, short &ready, bool reads) noexcept {
    ready = 0;
    if (wanted == ZMQ_POLLIN && pipes_.has_direct_input()) {
        ready = ZMQ_POLLIN;
        return error::none;
    }
    if (const error e = pipes_.enter(); failed(e))
        return e;
    if (reads)
        flush_remainder();
    try {
        if ((wanted & ZMQ_POLLIN) &&
            (pipes_.rules().has_input() || (reads && read_leased() && pipes_.rules().has_input())))
            ready |= ZMQ_POLLIN;
        if ((wanted & ZMQ_POLLOUT) && pipes_.rules().has_output())
            ready |= ZMQ_POLLOUT;
    } catch (...) {
        return error::no_memory;
    }
    return error::none;
}

bool socket_wait::arm(short wanted) noexcept {
    // Who has armed this socket already, for other events, must hear of what is taken in now.
    const bool has_news = pipes_.has_commands();
    if (failed(pipes_.enter()))
        return true;
    try {
        return pipes_.rules().arm(wanted & ZMQ_POLLIN, wanted & ZMQ_POLLOUT) || has_news;
    } catch (...) {
        return true;
    }
}

error socket_wait::make_level(const wakeup *&out) noexcept {
    const error e = inbox_.make_wakeup(blocking_);
    out = inbox_.level();
    return e;
}

/// What has been read into the caller's memory and is not what the caller gets has to stand elsewhere before that returns.
void socket_wait::end_offer(const std::uint8_t *given) noexcept {
    const std::uint8_t *const place = std::exchange(offered_, {}).data();
    if (leases_.take_filled() && given != place)
        for (const pipe_end_ptr &pipe : pipes_.live())
            while (!pipe->own_body(place))  // it stands nowhere else: without memory this waits
                (void)blocking_.wait({}, clock_.now() + memory_look);
}

bool socket_wait::spin_for_lagging_peer(const lag &of) noexcept {
    const auto is_near = [&] { return of.ahead() <= of.near || pipes_.has_commands(); };
    pipes_.leave_direct_input();
    leases_.begin(pipes_.live(), true);
    if (leases_.size() == 0) {
        return_leases();
        note_wait_over(clock_.now());
        const std::size_t octets = of.is_large ? std::min(of.size, lag::most_nearer) : lag::most_nearer;
        (void)lag_patience_.look_for(octets / octets_per_look, is_near);
        return false;
    }
    // Who keeps a connection also reads it: what comes may have to go to the I/O thread.
    (void)leases_.read_all();
    if (leases_.is_held_up() && !spin_for_room(is_near) && !lag_patience_.take_skip() && !leases_.read_more())
        return true;
    return_leases();
    note_wait_over(clock_.now());
    return false;
}

}  // namespace zlink
