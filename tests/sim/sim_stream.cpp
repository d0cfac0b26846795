// Does what a stream of the simulator does for loops and borrowers; see network.hpp.
#include "sim_stream.hpp"

#include <algorithm>
#include <cstring>

namespace zlink::sim {

namespace {
constexpr milliseconds longest_idle{60};  // of a writer that could go on, likewise
}  // namespace

namespace {

std::size_t octets_of(std::span<const iovec> ranges) noexcept {
    std::size_t result = 0;
    for (const iovec &range : ranges)
        result += range.iov_len;
    return result;
}

}  // namespace

std::size_t sim_stream::limited(std::size_t count) noexcept {
    dice &faults = network_.world_.faults;
    if (count > 1 && faults.chance(network_.rates.one_octet))
        return 1;
    if (count > 1 && faults.chance(network_.rates.short_count))
        return faults.between(1, count);
    return count;
}

bool sim_stream::breaks_now() noexcept {
    if (!network_.world_.faults.chance(network_.rates.reset))
        return false;
    network_.reset(link_);
    return true;
}

bool sim_stream::lease_out() noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    check_loop();
    w.may_switch();
    if (w.faults.chance(network_.rates.lend_refused))
        return false;
    is_leased_ = true;
    lending_ = ++network_.lendings_;
    last_use_ = w.now();
    if (!w.has_planted(planted::wait_outlives_lending)) {
        wants_read_ = wants_write_ = false;
        readable_.cancel();
        writable_.cancel();
    }
    loop_.note_lending();
    network_.look_after_lease(descriptor(), lending_);
    w.trace(0x700 + static_cast<std::uint64_t>(link_->id));
    w.tell("stream ", descriptor(), " is leased");
    return true;
}

error sim_stream::take_back() noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (!w.runs_on(loop_) || !is_leased_ || is_in_use())
        complain("is taken back while somebody uses it, or nobody has it");
    while (w.pipes.is_read_on())
        w.spin();  // before the connection goes under the borrower
    w.may_switch();
    is_leased_ = false;
    is_deaf_ = w.strikes(planted::deaf_after_lending, 300'000);
    w.tell("stream ", descriptor(), " is back");
    return w.faults.chance(network_.rates.take_back_fails) ? error::no_memory : error::none;
}

short sim_stream::ready(short events) const noexcept {
    const network::wire &from = link_->wires[1 - side_];
    const bool is_readable = link_->is_local
                                 ? shows_input()
                                 : (from.arrived > 0 && !is_hidden_) || from.has_ended || link_->is_reset;
    short found = link_->is_reset ? POLLERR | POLLHUP : 0;
    if (is_readable)
        found |= events & POLLIN;
    if (shows_room())
        found |= events & POLLOUT;
    return found;
}

io_result sim_stream::try_read(std::span<const iovec> ranges) noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (is_reading_)
        complain("is read by two at once");
    if (w.runs_on(loop_) == is_leased_)
        complain(is_leased_ ? "is read by its loop while it is leased"
                            : "is read by somebody it is not leased to");
    if (w.is_over())
        return {0, error::connection_reset};  // before two do harm to each other
    is_reading_ = true;
    last_use_ = w.now();
    network_.reads_by_borrowers_ += is_leased_;
    w.may_switch();
    const io_result result = link_->is_local ? read_local(ranges) : read_now(ranges);
    is_hidden_ =
        link_->is_local ? ring_.input.may_hold_octets() : hides_ && result.octets == octets_of(ranges);
    w.may_switch();
    is_reading_ = false;
    return result;
}

io_result sim_stream::try_write(std::span<const iovec> ranges) noexcept {
    const plenty_of_memory for_the_simulator;
    world &w = network_.world_;
    if (is_writing_)
        complain("is written by two at once");
    is_writing_ = true;
    network_.writes_by_senders_ += !w.runs_on(loop_);
    w.may_switch();
    const io_result result = link_->is_local ? write_local(ranges) : write_now(ranges);
    note_write(octets_of(ranges), result);
    w.may_switch();
    if (!w.runs_on(loop_))
        w.pipes.note_write();
    is_writing_ = false;
    return result;
}

io_result sim_stream::read_now(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    network::wire &from = in();
    if (!link_->is_reset && breaks_now())
        return {0, error::connection_reset};
    if (from.arrived == 0) {
        if (link_->is_reset || from.has_ended)
            return {0, error::connection_reset};
        return {0, error::again};
    }
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    const std::size_t count = limited(std::min(octets_of(ranges), from.arrived));
    std::size_t done = 0;
    for (const iovec &range : ranges) {
        const std::size_t part = std::min(range.iov_len, count - done);
        if (part > 0)
            std::memcpy(range.iov_base, from.data.data() + from.head + done, part);
        done += part;
    }
    meter_read({from.data.data() + from.head, count});
    from.head += count;
    from.arrived -= count;
    if (has_failed_)
        from.taken_last += count;
    if (from.head == from.data.size() || from.head > 65536) {
        from.data.erase(from.data.begin(), from.data.begin() + static_cast<std::ptrdiff_t>(from.head));
        from.head = 0;
    }
    w.trace(0x100 + static_cast<std::uint64_t>(link_->id), count);
    network_.notify(*link_, 1 - side_);
    return {count, error::none};
}

io_result sim_stream::write_now(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    network::wire &to = out();
    if (link_->is_reset)
        return {0, error::connection_reset};
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    if (w.faults.chance(network_.rates.write_fails))
        return {0, error::no_memory};
    const std::size_t wanted = octets_of(ranges);
    const bool is_bottomless = w.has_planted(planted::bottomless_stream);
    const std::size_t room = is_bottomless ? wanted : to.room();
    const std::size_t count = limited(std::min(wanted, room));
    if (count == 0)
        return {0, error::again};
    // At once: how many ranges there are depends on addresses, and may not decide what happens.
    std::vector<std::uint8_t> all;
    all.reserve(count);
    for (const iovec &range : ranges) {
        const auto *begin = static_cast<const std::uint8_t *>(range.iov_base);
        all.insert(all.end(), begin, begin + std::min(range.iov_len, count - all.size()));
    }
    (void)network_.put(link_, side_, all.data(), all.size());
    meter_written(all);
    w.trace(0x200 + static_cast<std::uint64_t>(link_->id), count);
    (void)breaks_now();  // after these octets; the next call finds out
    return {count, error::none};
}

io_result sim_stream::read_local(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    (void)(!link_->is_reset && breaks_now());
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    std::vector<std::uint8_t> octets(limited(octets_of(ranges)));
    const iovec one{octets.data(), octets.size()};
    const io_result result = ring_.input.read(link_->sockets[side_].get(), {&one, 1});
    network_.rings_ += ring_.input.may_hold_octets() && !std::exchange(has_ring_, true);
    range_cursor to(ranges);
    for (std::size_t at = 0; at < result.octets;) {
        const std::size_t part = std::min(to.size(), result.octets - at);
        std::memcpy(to.data(), octets.data() + at, part);
        to.advance(part);
        at += part;
    }
    in().taken += result.octets;
    meter_read({octets.data(), result.octets});
    if (has_failed_)
        in().taken_last += result.octets;
    w.trace(0x100 + static_cast<std::uint64_t>(link_->id), result.octets);
    network_.notify(*link_, 0);
    network_.notify(*link_, 1);
    return result;
}

io_result sim_stream::write_local(std::span<const iovec> ranges) noexcept {
    world &w = network_.world_;
    if (link_->is_reset)
        return {0, error::connection_reset};
    if (w.faults.chance(network_.rates.not_ready))
        return {0, error::again};
    if (w.faults.chance(network_.rates.write_fails))
        return {0, error::no_memory};
    // At once, as above.
    const std::size_t wanted = limited(octets_of(ranges));
    std::vector<std::uint8_t> all;
    all.reserve(wanted);
    for (const iovec &range : ranges) {
        const auto *begin = static_cast<const std::uint8_t *>(range.iov_base);
        all.insert(all.end(), begin, begin + std::min(range.iov_len, wanted - all.size()));
    }
    const iovec one{all.data(), all.size()};
    // The other side may take them before this call is over.
    out().written += wanted;
    const io_result result = ring_.output.write(link_->sockets[side_].get(), {&one, 1});
    out().written -= wanted - result.octets;
    meter_written({all.data(), result.octets});
    if (link_->has_ended && result.octets > 0)
        network_.observer_.on_break(link_->tags[side_], link_->tags[1 - side_], link_->id, result.octets,
                                    result.octets);
    w.trace(0x200 + static_cast<std::uint64_t>(link_->id), result.octets);
    network_.notify(*link_, 0);
    network_.notify(*link_, 1);
    (void)breaks_now();
    return result;
}

/// Whoever comes from nowhere says anything.
bool sim_stream::is_metered() const noexcept { return !link_->is_rogue; }

void sim_stream::meter_written(byte_span octets) {
    if (is_metered())
        out().at_writer.feed(octets, network_.world_.boxes, network_.metered_written_[link_->tags[side_]]);
}

void sim_stream::meter_read(byte_span octets) {
    if (is_metered() && !is_over_)
        in().at_reader.feed(octets, network_.world_.boxes, network_.metered_read_[link_->tags[side_]]);
}

void sim_stream::note_write(std::size_t wanted, const io_result &result) noexcept {
    last_write_ = network_.world_.now();
    is_refused_ = result.octets < wanted;
    if (failed(result.status) && result.status != error::again && !std::exchange(has_failed_, true))
        failed_at_ = last_write_;
    if ((is_refused_ || has_failed_) && !std::exchange(is_looked_after_, true))
        network_.look_after_writer(descriptor());
}

bool sim_stream::check_writer() noexcept {
    const time_point now = network_.world_.now();
    is_looked_after_ = !link_->is_reset && !has_gone() && (has_failed_ || is_refused_);
    if (!is_looked_after_)
        return false;
    if (has_failed_) {
        if (waiters_ > 0 && now - std::max(wait_began_, failed_at_) >= longest_sleep)
            stall("has failed, and the one it is leased to still waits for it");
    } else if (!has_room()) {
        last_write_ = now;
    } else if (now - last_write_ >= longest_idle) {
        stall("has room again, and nobody writes what it did not take");
    }
    return true;
}

bool sim_stream::finish_writing() noexcept {
    const plenty_of_memory for_the_simulator;
    check_loop();
    if (link_->is_reset)
        return false;
    network_.end_direction(link_, side_);
    return true;
}

}  // namespace zlink::sim
