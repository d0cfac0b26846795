// The leases of a socket, in use and not; see borrower.hpp. Map: taking into use, and giving back;
// asking for more; what to wait for; what a wait has brought.
#include "socket/borrower.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <poll.h>

#include "core/loop_descriptor.hpp"

namespace zlink {

/// Those in use stand in front in uses_, behind them what was asked for: one pass over the rest
/// finds what has been granted since.
void borrower::begin(std::span<const pipe_end_ptr> pipes, purpose why) noexcept {
    has_many_ = pipes.size() > few_pipes;
    why_ = why;
    for (std::size_t i = size_; i < uses_.size();) {
        use &u = uses_[i];
        if (reading held = u.pipe->begin_use()) {
            u.held = std::move(held);
            u.is_kept = true;
            std::swap(u, uses_[size_++]);
        } else if (u.pipe->is_lease_over()) {
            take_out(i);
            continue;
        }
        ++i;
    }
    // A look is no wait. It asks for nothing, and is no use that keeps a lease: else a program that
    // only looks would keep the I/O thread from its streams.
    if (!is_wait())
        return;
    if (why == purpose::loop) {
        const time_point now = clock_.now();
        const bool comes_soon = now - std::exchange(looked_at_, now) < lease_policy::between_looks;
        if (size_ < pipes.size() && !has_many_ && account_.asks(comes_soon))
            ask_for_leases(pipes, true);
        return;
    }
    const auto done = account_.until(clock_.now(), [this] { return how_.this_thread().in_large_writes; });
    if (size_ < pipes.size() && account_.asks(done.is_little))
        ask_for_leases(pipes, has_many_);
    if (lateness_.gives_back(
            done, why == purpose::room, [this] { return expects_large(); }, account_)) {
        for (std::size_t i = 0; i < size_; ++i)
            uses_[i].is_kept = false;
    }
}

/// One in use stays until end(): the items of a wait are known by their number.
void borrower::forget(const pipe_end &pipe) noexcept {
    const auto is_it = [&](const use &u) { return u.pipe == &pipe; };
    const auto unused = uses_.begin() + static_cast<std::ptrdiff_t>(size_);
    has_lost_ |= std::any_of(uses_.begin(), unused, is_it);
    uses_.erase(std::remove_if(unused, uses_.end(), is_it), uses_.end());
}

/// A lease that is not in use goes back by a use that ends at once.
void borrower::return_all(std::span<const pipe_end_ptr> pipes) noexcept {
    for (const pipe_end_ptr &pipe : pipes) {
        if (reading held = pipe->begin_use())
            held.end(false);
    }
}

/// Asks for what is not leased: this thread is likely to come back soon. It goes on behind the pipe
/// where the last call has stopped, so that of very many each is looked at in time.
void borrower::ask_for_leases(std::span<const pipe_end_ptr> pipes, bool wants_dialogue) noexcept {
    const std::size_t count = std::min(pipes.size(), lease_policy::most_pipes_looked_at);
    try {
        // Memory first: a lease that is granted and not listed would be taken into use by nobody.
        uses_.reserve(uses_.size() + count);
    } catch (const std::bad_alloc &) {
        return;
    }
    for (std::size_t i = 0; i < count && uses_.size() < lease_policy::most_leases; ++i) {
        next_ = next_ + 1 < pipes.size() ? next_ + 1 : 0;
        pipe_end &pipe = *pipes[next_];
        if ((!wants_dialogue || pipe.take_dialogue()) && pipe.ask_for_lease())
            uses_.push_back({&pipe});
    }
}

bool borrower::is_recalled() const noexcept {
    return std::any_of(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(size_),
                       [](const use &u) { return !u.is_kept || u.pipe->is_recalled(); });
}

/// Room is waited for only where this thread could use it: the wait would end at once, again and
/// again.
short borrower::events_for(const use &u) noexcept {
    const bool is_for_room =
        u.held.port().is_full() && !u.held.port().awaits_input() && !u.pipe->awaits_turn();
    return is_for_room ? POLLIN | POLLOUT : POLLIN;
}

/// Waits that follow each other before end() are one: the items stay, and are told to the account
/// once.
std::size_t borrower::list(wait_item *items, time_point now) noexcept {
    if (listed_)
        return 0;
    listed_ = items;
    for (std::size_t i = 0; i < size_; ++i) {
        const connection_port &io = uses_[i].held.port();
        items[i] = {io.descriptor(), events_for(uses_[i]), 0, nullptr, io.opening()};
        note_use(uses_[i]);
    }
    wakes_.begin_sleep(now, size_ == 1);
    if (is_wait())
        account_.begin_wait(now);
    return size_;
}

/// The number of a stream may be another one's by now. That one is read once more than need be.
void borrower::take_told(loop_descriptor &loop) noexcept {
    std::array<int, few_pipes> told;
    for (std::size_t left = loop.take_told(told); left > 0; --left)
        for (use &u : uses_)
            if (u.stream == told[left - 1])
                u.watched = 0;
}

/// A stream that was full is watched for room, too.
void borrower::leave_to(loop_descriptor &loop) noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
        use &u = uses_[i];
        const short wanted = events_for(u);
        if (!u.is_kept || u.watched == wanted)
            continue;
        u.stream = u.held.port().descriptor();
        u.is_kept = loop.watch(u.stream, wanted);
        u.watched = u.is_kept ? wanted : short{0};
        note_use(u);
    }
}

bool borrower::has_new() const noexcept {
    return std::ranges::any_of(uses_, [](const use &u) { return !u.is_kept && u.pipe->is_leased(); });
}

bool borrower::is_ready(waiter &how) const noexcept {
    wait_item item{uses_[0].held.port().descriptor(), POLLIN, 0, nullptr, uses_[0].held.port().opening()};
    return !failed(how.wait({&item, 1}, time_point::min())) && item.revents != 0;
}

bool borrower::go_on(time_point now) noexcept {
    if (size_ == 0)
        return false;
    wakes_.end_sleep(now);
    if (!wakes_.was_short())
        lateness_.note_no_look();
    const wait_item *items = listed_;
    for (std::size_t i = 0; i < size_; ++i) {
        use &u = uses_[i];
        // Before reading: what the peer is to answer may stand in the queue.
        if (items[i].revents & POLLOUT)
            (void)u.pipe->write_now(connection_port::occasion::ready);
        // With few connections one that brings nothing costs a wait next to nothing.
        if (items[i].revents != 0 || !has_many_)
            u.waits_in_vain = 0;
        else if (is_wait() && ++u.waits_in_vain >= lease_policy::most_waits_in_vain)
            u.is_kept = false;
    }
    return read([items](std::size_t at, use &) { return (items[at].revents & ~POLLOUT) != 0; });
}

}  // namespace zlink
