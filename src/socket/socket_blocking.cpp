// The calls of a socket that wait: for input, for room, for a peer that lags, and for a stream that
// a large body has filled.
#include <algorithm>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "pipe/room_wait.hpp"
#include "socket/one_wait.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

namespace zlink {

time_point socket::deadline_in(long timeout_ms) const noexcept {
    constexpr long longest_ms = 1L << 40;  // what goes beyond waits without end
    return timeout_ms < 0 || timeout_ms > longest_ms
               ? time_point::max()
               : environment_.clock.now() + std::chrono::milliseconds(timeout_ms);
}

/// Goes on with `attempt()`, which is tried once more whenever there may be something new.
template <class Attempt>
[[gnu::always_inline]] inline error socket::wait_for(short wanted, int timeout_ms, Attempt &&attempt) {
    const time_point deadline = deadline_in(timeout_ms);
    watched self{this, -1, wanted, 0};
    return one_wait(self).go_on(deadline, [&](bool) {
        const error e = pipes_.enter();
        return failed(e) ? e : attempt();
    });
}

error socket::retry_receive(frame_view &out, int flags) {
    platform::end_if_cancelled();
    const bool may_wait = !(flags & ZMQ_DONTWAIT) && options_.receive_timeout_ms != 0;
    if (!may_wait) {
        wait_.flush_remainder();
        const bool found = pipes_.is_exported() ? wait_.read_and_arm_for_loop() : wait_.read_leased();
        return found ? pattern_->receive(out) : error::again;
    }
    return wait_for(ZMQ_POLLIN, options_.receive_timeout_ms, [&] { return pattern_->receive(out); });
}

error socket::retry_send(const outgoing &frame, int flags) {
    platform::end_if_cancelled();
    const bool may_wait = !(flags & ZMQ_DONTWAIT) && options_.send_timeout_ms != 0;
    if (!may_wait)
        return pipes_.is_exported() && pattern_->arm(false, true) ? pattern_->send(frame) : error::again;
    const time_point begun = environment_.clock.now();
    counts_->add(counter::sends_blocked);
    const finally over([&] {
        const auto blocked = environment_.clock.now() - begun;
        counts_->add(counter::nanoseconds_blocked,
                     static_cast<std::uint64_t>(std::chrono::nanoseconds(blocked).count()));
    });
    return wait_for(ZMQ_POLLOUT, options_.send_timeout_ms, [&] { return pattern_->send(frame); });
}

/// A sender that is far ahead loses nothing by waiting a moment for who takes what it sends
/// (most_octets_ahead() says why). It goes on then: the mark is what holds it up. Only a body that
/// moves from one socket to another of the process is not copied.
error socket::wait_for_lagging_peer(const outgoing &frame) {
    if (pipes_.size() != 1)
        return error::none;
    pipe_end &peer = pipes_.first();
    const std::size_t size = frame.body.size();
    const bool is_inproc = peer.other_kind() == end_kind::socket;
    socket_wait::lag lag{peer, {size, size >= pipe_end::counted_in_octets_from, is_inproc}, 0};
    const std::uint64_t ahead = lag.ahead();
    const bool is_copied = !is_inproc || !travels_by_reference(frame, peer.reference_threshold());
    if (ahead <= most_octets_ahead(lag.kind) || !is_copied || pipes_.is_exported() || peer.is_conflating() ||
        !environment_.blocking.may_spin() || pattern_->drops())
        return error::none;
    lag.near = near_enough(ahead, lag.kind);
    if (!wait_.spin_for_lagging_peer(lag))
        return error::none;
    watched self{this, -1, 0, 0};
    const error e = one_wait(self).sleep_with_leases(environment_.clock.now() + longest_lag_sleep);
    wait_.note_lag(lag);
    return e == error::interrupted ? e : error::none;
}

/// The message is sent, whatever ends this: room, no more patience, a signal, the end of the
/// context or of the connection. A thread that is cancelled ends here.
void socket::wait_for_room(room_wait &body) {
    time_point until{};
    while (body.is_needed() && body.begin_wait(until)) {
        watched items[] = {{nullptr, body.descriptor(), ZMQ_POLLOUT, 0}, {this, -1, 0, 0}};
        one_wait wait(items, one_wait::within_call());
        error e = error::none;
        while (!failed(e) && items[0].ready == 0) {
            e = pipes_.take_commands();
            if (failed(e) || body.is_claimed() || !body.pipe().slot.is_attached())
                break;
            e = wait.sleep_within_call(until);
        }
        body.end_wait(items[0].ready != 0);
    }
}

}  // namespace zlink
