#include "socket/borrower.hpp"

#include <algorithm>
#include <new>
#include <poll.h>

namespace zlink {

void borrower::begin(std::span<const pipe_end_ptr> pipes, purpose why) noexcept {
    has_many_ = pipes.size() > few_pipes;
    counts_ = why != purpose::look;
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
    if (!counts_)
        return;
    const work done = work_until(clock_.now());
    if (size_ < pipes.size())
        consider(pipes, done.is_little);
    const duration work = before_room_ + (done.is_little ? duration::zero() : done.own);
    before_room_ = why == purpose::room ? work : duration::zero();
    // Waits before a long write do not count, either, for what comes after it.
    if (why == purpose::wait && std::max(work, done.own) >= longest_work && comes_late(work)) {
        for (std::size_t i = 0; i < size_; ++i)
            uses_[i].is_kept = false;
    }
}

void borrower::forget(const pipe_end &pipe) noexcept {
    const auto is_it = [&](const use &u) { return u.pipe == &pipe; };
    const auto unused = uses_.begin() + static_cast<std::ptrdiff_t>(size_);
    has_lost_ |= std::any_of(uses_.begin(), unused, is_it);
    uses_.erase(std::remove_if(unused, uses_.end(), is_it), uses_.end());
}

void borrower::return_all(std::span<const pipe_end_ptr> pipes) noexcept {
    for (const pipe_end_ptr &pipe : pipes) {
        if (reading held = pipe->begin_use())
            held.end(false);
    }
}

/// Tells how long the thread has worked since its last wait, and whether that was little. To write
/// a large body is no work, as long as the thread has had to wait about as long as that takes: else
/// who reads ahead for it saves time.
borrower::work borrower::work_until(time_point now) const noexcept {
    const duration own = now - wait_over_at_ - copying_;
    if (own < longest_work)
        return {own, true};
    const duration writing = how_.this_thread().in_large_writes - in_large_writes_;
    return {own, own - writing < longest_work && waited_ >= writing / 4 * 3};
}

/// After long work: whether the I/O thread could have read meanwhile what the waits after such work
/// are for. They are short then, and find octets at once: the answer to a request could not have
/// been read before. What is small is read in no time, and the lease pays by the waits alone.
bool borrower::comes_late(duration work) noexcept {
    const bool came_at_once = std::exchange(came_at_once_, false);
    late_ = expects_large() && came_at_once && waited_ < last_work_ / 4 * 3 ? late_ + 1 : 0;
    last_work_ = work;
    waited_ = {};
    looks_first_ = true;
    if (late_ < most_late)
        return false;
    late_ = 0;
    return true;
}

/// Asks for what is not leased, if this thread is likely to come back soon.
void borrower::consider(std::span<const pipe_end_ptr> pipes, bool is_eager) noexcept {
    streak_ = is_eager ? streak_ + 1 : std::min(streak_, 0);
    if (streak_ < eager_after)
        return;
    streak_ = -asks_again_after;
    const std::size_t count = std::min(pipes.size(), most_looked_at);
    try {
        uses_.reserve(uses_.size() + count);
    } catch (const std::bad_alloc &) {
        return;
    }
    for (std::size_t i = 0; i < count && uses_.size() < most_uses; ++i) {
        next_ = next_ + 1 < pipes.size() ? next_ + 1 : 0;
        pipe_end &pipe = *pipes[next_];
        if ((!has_many_ || pipe.take_dialogue()) && pipe.ask_for_lease())
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

std::size_t borrower::list(wait_item *items, time_point now) noexcept {
    if (listed_)
        return 0;
    listed_ = items;
    for (std::size_t i = 0; i < size_; ++i) {
        const connection_port &io = uses_[i].held.port();
        items[i] = {io.descriptor(), events_for(uses_[i]), 0, nullptr, io.opening()};
        note_use(uses_[i]);
    }
    const bool is_for_little = size_ == 1 && reads_since_wait_ <= few_reads;
    waits_for_little_ = is_for_little ? std::min(waits_for_little_ + 1, some_waits) : 0;
    reads_since_wait_ = 0;
    wait_began_ = now;
    if (counts_ && !std::exchange(is_waiting_, true))
        waits_since_ = now;
    return size_;
}

bool borrower::is_ready(waiter &how) const noexcept {
    wait_item item{uses_[0].held.port().descriptor(), POLLIN, 0, nullptr, uses_[0].held.port().opening()};
    return !failed(how.wait({&item, 1}, time_point::min())) && item.revents != 0;
}

bool borrower::go_on(time_point now) noexcept {
    if (size_ == 0)
        return false;
    had_short_wait_ = now - wait_began_ < longest_short_wait;
    looks_first_ = looks_first_ && had_short_wait_;
    const wait_item *items = listed_;
    for (std::size_t i = 0; i < size_; ++i) {
        use &u = uses_[i];
        if (items[i].revents & POLLOUT)
            (void)u.pipe->write_now(connection_port::occasion::ready);
        if (items[i].revents != 0 || !has_many_)
            u.waits_in_vain = 0;
        else if (counts_ && ++u.waits_in_vain >= most_waits_in_vain)
            u.is_kept = false;
    }
    return read([items](std::size_t at, use &) { return (items[at].revents & ~POLLOUT) != 0; });
}

}  // namespace zlink
