#include "socket/borrower.hpp"

#include <algorithm>
#include <poll.h>

namespace zlink {

void borrower::begin(std::span<const pipe_end_ptr> pipes, bool is_wait) noexcept {
    if (pipes.size() > most_pipes)
        return;
    for (const pipe_end_ptr &pipe : pipes) {
        if (size_ == most_pipes)
            return;  // a socket that is waited for twice may have got others in between
        if (io_turn *io = pipe->begin_use(is_wait))
            used_[size_++] = {pipe.get(), io, true};
    }
    if (is_wait && size_ < pipes.size())
        consider(pipes);
}

void borrower::give_all_back(std::span<const pipe_end_ptr> pipes) noexcept {
    for (const pipe_end_ptr &pipe : pipes) {
        if (pipe->begin_use(false))
            pipe->end_use(false);
    }
}

/// Asks for what is not lent, if this thread is likely to come back soon.
void borrower::consider(std::span<const pipe_end_ptr> pipes) noexcept {
    const bool is_eager = clock_.now() - left_ < longest_work;
    streak_ = is_eager ? streak_ + 1 : std::min(streak_, 0);
    if (streak_ < eager_after)
        return;
    streak_ = -asks_again_after;
    for (const pipe_end_ptr &pipe : pipes)
        (void)pipe->ask_to_borrow();
}

bool borrower::is_recalled() const noexcept {
    return std::any_of(used_.begin(), used_.begin() + static_cast<std::ptrdiff_t>(size_),
                       [](const use &u) { return !u.is_kept || u.pipe->is_recalled(); });
}

std::size_t borrower::list(wait_item *items, time_point now) noexcept {
    if (listed_)
        return 0;
    listed_ = items;
    for (std::size_t i = 0; i < size_; ++i) {
        const short events = used_[i].io->is_full() ? POLLIN | POLLOUT : POLLIN;
        items[i] = {used_[i].io->descriptor(), events, 0, nullptr, used_[i].io->opening()};
    }
    const bool is_for_little = size_ == 1 && reads_since_wait_ <= few_reads;
    waits_for_little_ = is_for_little ? std::min(waits_for_little_ + 1, some_waits) : 0;
    reads_since_wait_ = 0;
    wait_began_ = now;
    return size_;
}

bool borrower::is_ready(waiter &how) const noexcept {
    wait_item item{used_[0].io->descriptor(), POLLIN, 0, nullptr, used_[0].io->opening()};
    return !failed(how.wait({&item, 1}, time_point::min())) && item.revents != 0;
}

bool borrower::go_on(time_point now) noexcept {
    if (size_ == 0)
        return false;
    had_short_wait_ = now - wait_began_ < longest_short_wait;
    const wait_item *items = listed_;
    for (std::size_t i = 0; i < size_; ++i) {
        if (items[i].revents & POLLOUT)
            (void)used_[i].pipe->write_now(io_turn::occasion::ready);
    }
    return read([items](std::size_t at, use &) { return (items[at].revents & ~POLLOUT) != 0; });
}

}  // namespace zlink
