// A stream goes over from its socket to a shared ring, and is written and read there; see
// ring_io.hpp.
//
// Order:    bells; the writing half: the steps of the offer, writes to the socket, writes to the
//           ring, waiting for room; the reading half: reads from the socket, which find an offer,
//           bells, reads from the ring, room told of.
#include "transport/ring_io.hpp"

#include <algorithm>
#include <array>

#include "core/tuning.hpp"
#include "transport/passed_descriptors.hpp"
#include "transport/socket_calls.hpp"

namespace zlink {

namespace {

constexpr std::uint64_t octets_worth_a_ring = 1024 * 1024;
// octets until it is known to accept no ring
constexpr std::uint64_t patience_with_peer = 8 * 1024 * 1024;
constexpr std::size_t most_octets_unshown = 32 * 1024;  // until the other side sees it
// at once; the smallest buffer holds six
constexpr int most_bells = 64;
constexpr int most_takes = 64;  // in one read: the other side may add octets one by one

io_result send_bell(int socket) noexcept {
    char octet = 0;
    const iovec range{&octet, 1};
    return socket_calls::write(socket, {&range, 1});
}

constexpr std::size_t all_bells = 512;  // more than a socket with the smallest buffer holds

}  // namespace

// ---- out ----

io_result ring_output::write(int socket, std::span<const iovec> ranges) noexcept {
    if (state_ != state::shared)
        go_on(socket);
    return state_ == state::shared ? write_ring(socket, ranges) : write_plain(socket, ranges);
}

void ring_output::go_on(int socket) noexcept {
    if (state_ == state::plain && in_stream_ >= octets_worth_a_ring) {
        in_stream_ = 0;
        const error e = ring_.make(ring_size_, to_give_);
        if (!failed(e))
            state_ = state::offering;
        else if (e != error::too_many_files)  // there may be fewer later
            give_up();
    } else if (state_ == state::offered && ring_.is_accepted()) {
        // A full ring has to be shown by a full socket.
        if (!set_smallest_send_buffer(socket)) {
            give_up();
            return;
        }
        ring_.begin_at(octets_);
        state_ = state::shared;
    } else if (state_ == state::offered && octets_ - offered_at_ > patience_with_peer) {
        give_up();
    }
}

void ring_output::give_up() noexcept {
    ring_.close();
    state_ = state::plain_for_good;
}

io_result ring_output::write_plain(int socket, std::span<const iovec> ranges) noexcept {
    io_result result = state_ == state::offering
                           ? socket_calls::write_with_descriptor(socket, ranges, to_give_.get())
                           : socket_calls::write(socket, ranges);
    if (state_ == state::offering && result.status != error::again) {
        to_give_ = owned_descriptor();
        if (failed(result.status)) {  // perhaps because of the descriptor
            give_up();
            result = socket_calls::write(socket, ranges);
        } else {
            state_ = state::offered;
            offered_at_ = octets_;
        }
    }
    octets_ += result.octets;
    if (result.octets >= part_of_a_stream)
        in_stream_ += result.octets;
    return result;
}

io_result ring_output::write_ring(int socket, std::span<const iovec> ranges) noexcept {
    // Nothing else would tell that the peer is gone while nobody reads on this side.
    if (!std::exchange(has_rung_, false)) {
        if (const error e = socket_calls::check_peer(socket); failed(e))
            return {0, e};
    }
    std::size_t written = 0;
    for (range_cursor from(ranges); !from.is_at_end();) {
        const std::size_t octets = std::min({from.size(), ring_.room(), most_octets_unshown});
        if (octets == 0) {
            if (const error e = wait_for_room(socket); failed(e))
                return {written, written > 0 && e == error::again ? error::none : e};
            continue;
        }
        written += ring_.put(from, octets);
        if (ring_.take_wish_for_bell()) {
            has_rung_ = true;
            // A socket that is full is there to be read anyway.
            if (const error e = send_bell(socket).status; failed(e) && e != error::again)
                return {written, e};
        }
    }
    return {written};
}

/// Makes the socket full. The other side may be at it just now, and take bells out as fast as they
/// come: then who waits for the socket comes back soon. None when there is room already.
error ring_output::wait_for_room(int socket) noexcept {
    error status = error::none;
    for (int bells = 0; !failed(status) && bells < most_bells; ++bells) {
        if (ring_.room() > 0)
            return error::none;
        status = send_bell(socket).status;
    }
    if (failed(status) && status != error::again)
        return status;
    // Not before: who sees this takes the bells out.
    ring_.ask_for_room();
    return ring_.room() > 0 ? error::none : error::again;
}

// ---- in ----

io_result ring_input::read(int socket, std::span<const iovec> ranges) noexcept {
    if (ring_is_ != in_use::no)
        return read_ring(socket, range_cursor(ranges));
    const io_result result = read_socket(socket, ranges);
    octets_ += result.octets;
    if (!ring_ || octets_ < ring_.beginning())
        return result;
    const std::uint64_t bells = octets_ - ring_.beginning();
    if (bells > result.octets)
        return {0, error::protocol};
    ring_is_ = in_use::read;
    const std::size_t plain = result.octets - static_cast<std::size_t>(bells);
    range_cursor to(ranges);
    to.pass(plain);
    const io_result more = read_ring(socket, to);
    return plain > 0 ? io_result{plain + more.octets} : more;
}

/// Also takes a ring that is offered.
io_result ring_input::read_socket(int socket, std::span<const iovec> ranges) noexcept {
    if (!brings_descriptors_)
        return socket_calls::read(socket, ranges);
    if (!may_accept_)
        return socket_calls::read_without_descriptors(socket, ranges);
    owned_descriptor offered;
    const io_result result = socket_calls::read_with_descriptor(socket, ranges, offered);
    if (offered) {
        may_accept_ = false;
        if (failed(ring_.accept(offered)))  // all goes on as it was
            passed_descriptors::close_elsewhere(offered.release());
    }
    return result;
}

io_result ring_input::take_bells(int socket, std::size_t most) noexcept {
    std::array<char, all_bells> octets;
    const iovec range{octets.data(), most};
    return read_socket(socket, {&range, 1});
}

io_result ring_input::read_ring(int socket, range_cursor to) noexcept {
    std::size_t done = 0;
    int takes = 0;
    io_result nothing{0, error::again};
    in_use was = ring_is_;  // armed: the socket was waited for, and is looked at, once
    while (!to.is_at_end()) {
        const std::size_t found = ring_.available();
        if (found > ring_.capacity()) {
            nothing.status = error::protocol;
            break;
        }
        if (found > 0) {
            if (std::exchange(ring_is_, in_use::read) == in_use::armed && ring_.disarm())
                (void)take_bells(socket, 1);
            done += ring_.take(to, found);
            give_back(socket);
            if (++takes == most_takes)
                break;
        } else if (ring_is_ != in_use::armed) {
            ring_is_ = in_use::armed;
            ring_.arm();
        } else if (was == in_use::armed && nothing.status == error::again) {
            was = in_use::read;
            if (const io_result result = take_bells(socket, all_bells); result.octets > 0)
                ring_is_ = in_use::read;
            else
                nothing = result;
        } else {
            break;
        }
    }
    return done > 0 ? io_result{done} : nothing;
}

/// Makes room for the other side, and takes out of the socket what shows it that there is none.
void ring_input::give_back(int socket) noexcept {
    ring_.give_back();
    if (ring_.take_wish_for_room())
        (void)take_bells(socket, all_bells);
}

}  // namespace zlink
