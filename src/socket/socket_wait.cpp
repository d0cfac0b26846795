// The work of a socket's thread for the socket while it waits; see socket_wait.hpp.
//
// Map:      what is left in pipes; the borrower; which spin is due, and the spins; events; the
//           level; the peer that lags.
#include "socket/socket_wait.hpp"

#include <algorithm>
#include <poll.h>
#include <utility>

#include "core/loop_descriptor.hpp"
#include "zmq.h"

namespace zlink {

namespace {

/// The number of pipes in which a thread that waits writes what is left in them.
constexpr std::size_t most_pipes_flushed = 4;

// Until memory that there was not is asked for again.
constexpr std::chrono::milliseconds memory_look{1};

}  // namespace

/// Not where there are more pipes: each wait would go through all of them, and their I/O threads
/// write what is left, if a little later.
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
    if (!(wanted & (ZMQ_POLLIN | ZMQ_POLLOUT)))
        return false;
    if (__builtin_expect(pipes_.is_exported(), 0)) {
        give_back_what_a_loop_has();
        return false;
    }
    leases_.begin(pipes_.live(), wanted & ZMQ_POLLIN ? borrower::purpose::wait : borrower::purpose::room);
    if (leases_.size() == 0)
        return spin_before_sleep(wanted, is_alone);
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

/// The facts that due_spin() asks for.
struct socket_wait::facts {
    const socket_wait &self;
    short wanted;
    bool is_waiting_alone;

    std::size_t leases() const noexcept { return self.leases_.size(); }
    std::size_t pipes() const noexcept { return self.pipes_.size(); }
    bool is_alone() const noexcept { return is_waiting_alone; }
    bool wants_input() const noexcept { return wanted == ZMQ_POLLIN; }
    bool wants_room() const noexcept { return wanted == ZMQ_POLLOUT; }
    bool is_inproc() const noexcept { return self.pipes_.first().other_kind() == end_kind::socket; }
    bool is_there() const noexcept {
        pipe_end &pipe = self.pipes_.first();
        return wants_input() ? pipe.has_input() : pipe.has_credit();
    }
    bool has_commands() const noexcept { return self.pipes_.has_commands(); }
    bool may_spin() const noexcept { return self.blocking_.may_spin(); }
    bool had_short_wait() const noexcept { return self.leases_.had_short_wait(); }
    bool expects_large() const noexcept { return self.leases_.expects_large(); }
    bool was_woken_for_little() const noexcept { return self.leases_.was_woken_for_little(); }
};

/// Whether what is waited for comes within moments. With what is borrowed in use.
bool socket_wait::spin_before_sleep(short wanted, bool is_alone) noexcept {
    const facts now{*this, wanted, is_alone};
    if (reads_first(now) && try_read_first())
        return true;
    switch (due_spin(now)) {
    case spin::peer:
        return spin_for_peer(now.wants_input());
    case spin::room:
        return spin_for_credit();
    case spin::rest:
        return spin_for_rest();
    case spin::answer:
        return spin_for_answer();
    default:
        return false;
    }
}

bool socket_wait::spin_for_credit() noexcept {
    if (!spin_for_room([this] { return pipes_.first().has_credit() || pipes_.has_commands(); }))
        return false;
    (void)leases_.read_all();  // as in spin_for_lagging_peer()
    return true;
}

bool socket_wait::spin_for_rest() noexcept {
    return spins_.look_for(
        spin::rest, [this] { return leases_.is_recalled() || leases_.read_all() || pipes_.has_commands(); });
}

/// Whether the one peer, a socket of this process, soon does what is waited for.
bool socket_wait::spin_for_peer(bool reads) noexcept {
    pipe_end &pipe = pipes_.first();
    if (!spins_.look_for(spin::peer, [&] {
            return pipes_.has_commands() || (reads ? pipe.has_input() : pipe.has_credit());
        }))
        return false;
    if (reads)
        pipes_.look_for_input(pipe);
    else
        pipes_.look_for_room(pipe);
    return true;
}

bool socket_wait::try_read_first() noexcept {
    if (spins_.take_skip(spin::first_read))
        return false;
    const bool is_found = leases_.read_all();
    spins_.note(spin::first_read, is_found);
    if (is_found)
        pace_.note_wait();  // as good as one: what came is most likely an answer
    return is_found;
}

/// Whether what this thread is mostly woken for comes soon.
bool socket_wait::spin_for_answer() noexcept {
    if (!spins_.rest().is_over(clock_) || spins_.take_skip(spin::answer))
        return false;
    const time_point begin = clock_.now();
    time_point last = begin;
    for (unsigned look = 1; looks_for_answer(look, last - begin); ++look) {
        patience::pause(pauses_before_look(look));
        leases_.write_full();
        if (leases_.is_ready(blocking_) && leases_.read_all()) {
            spins_.note(spin::answer, true);
            leases_.note_answer();
            pace_.note_wait();  // as in try_read_first()
            return true;
        }
        if (pipes_.has_commands() || leases_.is_recalled())
            return false;
        const time_point now = clock_.now();
        if (spins_.rest().note(now - std::exchange(last, now), now))
            return false;
    }
    spins_.note(spin::answer, false);
    return false;
}

/// Writes again and again: that keeps both sides at work.
template <class IsThere>
bool socket_wait::spin_for_room(IsThere &&is_there) noexcept {
    return spins_.look_for(spin::room, [&] {
        leases_.write_full();
        return is_there();
    });
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
    leases_.begin(pipes_.live(), borrower::purpose::look);
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
    return __builtin_expect(pipes_.is_exported(), 0) ? look_and_arm(wanted, ready, reads)
                                                     : look(wanted, ready, reads);
}

error socket_wait::look(short wanted, short &ready, bool reads) noexcept {
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

/// A program that waits on the descriptor is told of all that is not there yet, whatever this call
/// asks for: what came meanwhile may have kept the rest from being armed. When there is more to
/// take in, the descriptor says so already.
error socket_wait::look_and_arm(short wanted, short &ready, bool reads) noexcept {
    constexpr short both = ZMQ_POLLIN | ZMQ_POLLOUT;
    constexpr int most_tries = 8;
    short all = 0;
    ready = 0;
    hear_of_streams();
    if (const error e = look(both, all, false); failed(e))
        return e;
    if (reads && !(all & ZMQ_POLLIN) && read_for_loop())
        all |= ZMQ_POLLIN;
    if (reads)
        flush_remainder();
    for (int tries = 0; all != both && !pipes_.has_commands() && arm(static_cast<short>(both & ~all));) {
        if (const error e = look(both, all, false); failed(e))
            return e;
        if (++tries == most_tries) {
            pipes_.post_look_again();
            break;
        }
    }
    if (reads && !(all & ZMQ_POLLIN))
        hear_of_new_leases();
    ready = static_cast<short>(all & wanted);
    return error::none;
}

/// The number stays the same. Where the system has no descriptor left the level's own does: the
/// loop is told of no streams then, and the I/O threads read them.
error socket_wait::export_descriptor(int &out) noexcept {
    if (exported_ < 0) {
        const wakeup *commands = nullptr;
        if (const error e = level(commands); failed(e))
            return e;
        (void)blocking_.make_loop_descriptor(*commands, loop_);
        exported_ = loop_ ? loop_->descriptor() : commands->descriptor();
    }
    out = exported_;
    return error::none;
}

/// Whatever is there: the loop would be told again and again.
void socket_wait::hear_of_streams() noexcept {
    if (loop_)
        leases_.take_told(*loop_);
}

/// An event loop that comes back soon, each time, reads as a thread does that waits: a program says
/// by a call that finds nothing that it is about to go to its loop. It is told of a stream only
/// where there is no message: it may not want those that are there. The leases are out of use
/// before pipes are armed: those in use are armed for nobody. True when a message is there.
bool socket_wait::read_for_loop() noexcept {
    if (!may_borrow_for_loop())
        return false;
    pipes_.leave_direct_input();
    leases_.begin(pipes_.live(), borrower::purpose::loop);
    leases_.read_for_loop([this](pipe_end &pipe) { look_again(pipe); });
    bool is_there = false;
    try {
        is_there = leased() > 0 && pipes_.rules().has_input();
        if (!is_there)
            leases_.leave_to(*loop_);
    } catch (...) {
        pipes_.post_look_again();
    }
    return_leases();
    return is_there;
}

/// This call may have taken in the wake-up that said so.
void socket_wait::hear_of_new_leases() noexcept {
    if (may_borrow_for_loop() && leases_.has_new())
        pipes_.post_look_again();
}

bool socket_wait::read_and_arm_for_loop() {
    hear_of_streams();
    if (read_for_loop() || pipes_.rules().arm(true, false))
        return true;
    hear_of_new_leases();
    return false;
}

/// The thread waits in a call, or is told by a descriptor that knows of no streams.
void socket_wait::give_back_what_a_loop_has() noexcept {
    if (!leases_.has_any())
        return;
    pipes_.leave_direct_input();
    leases_.begin(pipes_.live(), borrower::purpose::look);
    leases_.give_all_back();
    return_leases();
}

void socket_wait::leave_loop_alone() noexcept {
    is_loop_told_otherwise_ = true;
    give_back_what_a_loop_has();
}

bool socket_wait::arm(short wanted) noexcept {
    // A wait that has armed this socket already, for other events, must hear of what is taken in
    // now.
    bool has_news = false;
    if (failed(pipes_.enter(has_news)))
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

/// A body that has been read into the caller's memory and is not what the caller gets has to stand
/// elsewhere before that returns.
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
    leases_.begin(pipes_.live(), borrower::purpose::room);
    if (leases_.size() == 0) {
        return_leases();
        note_wait_over(clock_.now());
        (void)spins_.look_for(spin::lag, looks_for_lag(of.kind), is_near);
        return false;
    }
    // A thread that has a lease in use reads, too, not only writes: what comes may be something
    // that only the I/O thread can answer.
    (void)leases_.read_all();
    if (leases_.is_held_up() && !spin_for_room(is_near) && !spins_.take_skip(spin::lag) &&
        !leases_.read_more())
        return true;
    return_leases();
    note_wait_over(clock_.now());
    return false;
}

}  // namespace zlink
