// One wait of a thread; see one_wait.hpp.
//
// Map:      the steps of a round: look, arm, sleep, disarm; rounds; descriptors, and memory for
//           all.
#include "socket/one_wait.hpp"

#include <algorithm>
#include <new>
#include <poll.h>
#include <utility>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "socket/socket.hpp"

namespace zlink {

namespace {

short to_system(short events) noexcept {
    return static_cast<short>((events & ZMQ_POLLIN ? POLLIN : 0) | (events & ZMQ_POLLOUT ? POLLOUT : 0) |
                              (events & ZMQ_POLLPRI ? POLLPRI : 0));
}

short from_system(short events) noexcept {
    return static_cast<short>((events & POLLIN ? ZMQ_POLLIN : 0) | (events & POLLOUT ? ZMQ_POLLOUT : 0) |
                              (events & POLLPRI ? ZMQ_POLLPRI : 0) |
                              (events & ~(POLLIN | POLLOUT | POLLPRI) ? ZMQ_POLLERR : 0));
}

/// Null when none of them is a socket.
socket *first_socket(std::span<const watched> items) noexcept {
    for (const watched &item : items) {
        if (item.which)
            return item.which;
    }
    return nullptr;
}

}  // namespace

one_wait::one_wait(std::span<watched> items) noexcept
    : items_(items), first_socket_(first_socket(items)),
      clock_(first_socket_ ? first_socket_->clock() : platform::steady_clock()), kind_(kind::of_items) {
    count_descriptors();
}

one_wait::one_wait(std::span<watched> items, within_call) noexcept
    : items_(items), first_socket_(first_socket(items)), clock_(first_socket_->clock()),
      kind_(kind::within_call) {
    count_descriptors();
}

one_wait::one_wait(watched &socket_of_call) noexcept
    : items_(&socket_of_call, 1), first_socket_(socket_of_call.which), clock_(first_socket_->clock()),
      kind_(kind::of_call), how_(&first_socket_->blocking()), waits_(few_.data()), room_(few_items) {}

void one_wait::count_descriptors() noexcept {
    for (const watched &item : items_)
        descriptors_ += !item.which;
}

inline socket_wait &one_wait::wait_of(const watched &item) noexcept { return item.which->wait_; }

/// Ends the wait for all, when they have read what it brought. Returns the time, asked for as
/// seldom for many sockets as for one.
inline time_point one_wait::note_wait_over() noexcept {
    const time_point now = clock_.now();
    for (const watched &item : items_) {
        if (item.which && kind_ != kind::within_call)
            wait_of(item).note_wait_over(now);
    }
    return now;
}

/// True when there is something to attempt. Sockets are gone through as few times as can be: many
/// do not stay in the cache.
bool one_wait::look(time_point deadline) noexcept {
    const bool is_alone = items_.size() == 1;
    bool found = false;
    leased_ = 0;
    is_fresh_ = false;
    for (const watched &item : items_) {
        if (!item.which)
            continue;
        socket_wait &wait = wait_of(item);
        found |= wait.borrow(item.wanted, is_alone, deadline) || wait.arm(item.wanted);
        leased_ += wait.leased();
    }
    return found;
}

/// Lists what to sleep on, and says that it is slept on.
one_wait::arming one_wait::arm() noexcept {
    if (const error e = prepare(); failed(e))
        return {e, false};
    if (const error e = make_room(items_.size() + leased_); failed(e))
        return {kind_ == kind::of_call ? error::none : e, false};
    wait_item *level_item = waits_ + descriptors_;
    listed_end_ = waits_ + items_.size();
    const time_point now = clock_.now();
    for (const watched &item : items_) {
        if (!item.which)
            continue;
        socket_wait &wait = wait_of(item);
        const wakeup *level = nullptr;
        if (const error e = wait.level(level); failed(e))
            return {e, false};
        *level_item++ = {level->descriptor(), POLLIN, 0, level, level->opening()};
        if (!(kind_ == kind::within_call ? wait.begin_wait_within_call() : wait.begin_wait()))
            return {error::none, false};
        if (kind_ != kind::within_call)
            listed_end_ += wait.list_leased(listed_end_, now);
    }
    return {};
}

/// `is_ready_` when one of the items is.
error one_wait::sleep(time_point deadline) {
    const error e = how_->wait_as_caller({waits_, listed_end_}, deadline);
    is_ready_ = !failed(e);
    return e;
}

/// Ends the wait, and takes in what it has brought.
void one_wait::disarm() noexcept {
    time_point woken{};
    const bool is_ready = std::exchange(is_ready_, false);
    if (is_ready) {
        note_descriptors();
        is_fresh_ = true;
        woken = clock_.now();
    }
    for (const watched &item : items_) {
        if (!item.which)
            continue;
        socket_wait &wait = wait_of(item);
        wait.end_wait();
        if (kind_ == kind::within_call)
            continue;
        if (is_ready)
            wait.go_on_with_leased(woken);
        wait.return_leases();
    }
    over_at_ = note_wait_over();
}

/// Takes in what the sleep has brought, for a body that is read straight into the caller's memory.
/// Whether to sleep once more for the rest.
bool one_wait::fills_offer(time_point deadline) noexcept {
    if (kind_ != kind::of_call || !wait_of(items_[0]).has_offer())
        return false;
    socket_wait &wait = wait_of(items_[0]);
    wait.end_wait();
    wait.go_on_with_leased(clock_.now());
    is_ready_ = false;
    return wait.fills_offer(deadline);
}

inline error one_wait::after_look(time_point deadline) {
    const finally over([this] { disarm(); });
    for (;;) {
        const arming armed = arm();
        if (failed(armed.failure))
            return armed.failure;
        if (!armed.may_sleep)
            return error::none;
        if (const error e = sleep(deadline); failed(e) || !fills_offer(deadline))
            return e;
    }
}

/// Nothing was slept on.
error one_wait::over_at_once(time_point deadline) noexcept {
    for (const watched &item : items_) {
        if (item.which)
            wait_of(item).return_leases();
    }
    return note_wait_over() >= deadline ? error::timed_out : error::none;
}

/// The events that wake the thread may all be others than it waits for, and there may be no end of
/// them.
error one_wait::round(time_point deadline) {
    if (look(deadline))
        return over_at_once(deadline);
    const error e = after_look(deadline);
    return !failed(e) && over_at_ >= deadline ? error::timed_out : e;
}

error one_wait::sleep_with_leases(time_point deadline) {
    leased_ = wait_of(items_[0]).leased();
    return after_look(deadline);
}

// ---- Descriptors, and memory for all ------------------------------------------------------------

error one_wait::look_at_descriptors() noexcept {
    if (is_fresh_)
        return error::none;
    if (const error e = prepare(); failed(e))
        return e;
    const error e = how_->wait({waits_, descriptors_}, time_point::min());
    if (failed(e) && e != error::timed_out)
        return e;
    note_descriptors();
    return error::none;
}

void one_wait::note_descriptors() noexcept {
    if (descriptors_ == 0)
        return;
    const wait_item *next = waits_;
    for (watched &item : items_) {
        if (!item.which)
            item.ready = from_system((next++)->revents);
    }
}

/// Finds a waiter, and room for the items: descriptors first, in the order of the items, then the
/// sockets' levels.
error one_wait::prepare_first() noexcept {
    if (!how_) {
        if (!first_socket_)
            own_waiter_ = platform::make_waiter(platform::steady_clock());
        how_ = first_socket_ ? &first_socket_->blocking() : own_waiter_.get();
        if (!how_)
            return error::no_memory;
    }
    waits_ = few_.data();
    room_ = few_items;
    if (const error e = make_room(items_.size()); failed(e)) {
        waits_ = nullptr;
        return e;
    }
    wait_item *next = waits_;
    for (const watched &item : items_) {
        if (!item.which)
            *next++ = {item.descriptor, to_system(item.wanted), 0, nullptr, 0};
    }
    return error::none;
}

error one_wait::make_more_room(std::size_t count) noexcept {
    if (kind_ == kind::of_call) {
        wait_item *const kept = wait_of(items_[0]).room_for_waits(count);
        if (!kept)
            return error::no_memory;
        waits_ = kept;
    } else {
        std::unique_ptr<wait_item[]> more(new (std::nothrow) wait_item[count]);
        if (!more)
            return error::no_memory;
        std::copy_n(waits_, std::min(room_, descriptors_), more.get());
        many_ = std::move(more);
        waits_ = many_.get();
    }
    room_ = count;
    return error::none;
}

}  // namespace zlink
