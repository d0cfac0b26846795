// Waits for several sockets and descriptors at once; see poll_set.hpp.
#include "socket/poll_set.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <poll.h>

#include "core/finally.hpp"
#include "core/platform.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

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

constexpr long longest_ms = 1L << 40;  // what goes beyond waits without end

class one_wait {
public:
    explicit one_wait(std::span<watched> items) noexcept : items_(items) {
        for (const watched &item : items_) {
            if (item.which && !first_socket_)
                first_socket_ = item.which;
            descriptors_ += !item.which;
        }
    }
    ~one_wait() {}

    error run(long timeout_ms, std::size_t &count) {
        platform::end_if_cancelled();
        time_point deadline = time_point::max();
        bool is_last_look = timeout_ms == 0;
        bool has_deadline = timeout_ms <= 0 || timeout_ms > longest_ms;
        bool is_fresh = false;  // the descriptors were just looked at
        for (;;) {
            if (const error e = look(is_fresh, is_last_look, count); failed(e))
                return e;
            if (count > 0 || is_last_look)
                return error::none;
            if (!has_deadline) {
                deadline = clock().now() + std::chrono::milliseconds(timeout_ms);
                has_deadline = true;
            }
            is_fresh = false;
            if (borrow_and_arm()) {
                for (watched &item : items_) {
                    if (item.which)
                        item.which->return_leases();
                }
                is_last_look = note_wait_over() >= deadline;
                continue;
            }
            const error e = sleep(deadline, is_fresh);
            if (e == error::timed_out)
                is_last_look = true;
            else if (failed(e))
                return e;
        }
    }

private:
    const clock_source &clock() const noexcept {
        return first_socket_ ? first_socket_->clock() : platform::steady_clock();
    }

    /// Fills in what is ready now.
    error look(bool is_fresh, bool is_last, std::size_t &count) noexcept {
        count = 0;
        if (descriptors_ > 0) {
            if (const error e = is_fresh ? error::none : look_at_descriptors(); failed(e))
                return e;
        }
        for (watched &item : items_) {
            if (item.which) {
                if (const error e = item.which->events(item.wanted, item.ready, is_last); failed(e))
                    return e;
            }
            count += item.ready != 0;
        }
        return error::none;
    }

    error look_at_descriptors() noexcept {
        if (const error e = prepare(); failed(e))
            return e;
        const error e = how_->wait({waits_, descriptors_}, time_point::min());
        if (failed(e) && e != error::timed_out)
            return e;
        note_descriptors();
        return error::none;
    }

    void note_descriptors() noexcept {
        const wait_item *next = waits_;
        for (watched &item : items_) {
            if (!item.which)
                item.ready = from_system((next++)->revents);
        }
    }

    /// True when there is something to look at. Sockets are gone through as few times as can be: many do not stay in the cache.
    bool borrow_and_arm() noexcept {
        bool found = false;
        borrowed_ = 0;
        for (watched &item : items_) {
            if (!item.which)
                continue;
            found |= item.which->borrow(item.wanted, items_.size() == 1) || item.which->arm(item.wanted);
            borrowed_ += item.which->leased();
        }
        return found;
    }

    /// Ends the wait for all, when they have read what it brought. Returns the time, asked for as seldom for many sockets as for one.
    time_point note_wait_over() noexcept {
        const time_point now = clock().now();
        for (watched &item : items_) {
            if (item.which)
                item.which->note_wait_over(now);
        }
        return now;
    }

    error sleep(time_point deadline, bool &is_ready) {
        const finally over([&] { leave(is_ready); });
        return wait(deadline, is_ready);
    }

    /// Ends the wait, and takes in what it has brought.
    void leave(bool is_ready) noexcept {
        time_point woken{};
        if (is_ready) {
            note_descriptors();
            woken = clock().now();
        }
        for (watched &item : items_) {
            if (!item.which)
                continue;
            item.which->end_wait();
            if (is_ready)
                item.which->go_on_with_leased(woken);
            item.which->return_leases();
        }
        (void)note_wait_over();
    }

    /// Waits; `is_ready` when one of the items is.
    error wait(time_point deadline, bool &is_ready) {
        if (const error e = prepare(); failed(e))
            return e;
        if (const error e = make_room(items_.size() + borrowed_); failed(e))
            return e;
        wait_item *level_item = waits_ + descriptors_;
        wait_item *borrowed_item = waits_ + items_.size();
        const time_point now = clock().now();
        for (const watched &item : items_) {
            if (!item.which)
                continue;
            const wakeup *level = nullptr;
            if (const error e = item.which->wait_level(level); failed(e))
                return e;
            *level_item++ = {level->descriptor(), POLLIN, 0, level, level->opening()};
            borrowed_item += item.which->list_leased(borrowed_item, now);
            // There is something to look at first: always, while memory is short.
            if (!item.which->begin_wait())
                return clock().has_passed(deadline) ? error::timed_out : error::none;
        }
        const error e = how_->wait_as_caller({waits_, borrowed_item}, deadline);
        is_ready = !failed(e);
        return e;
    }

    /// Finds a waiter, and room for the items: descriptors first, in the order of the items, then the sockets' levels.
    error prepare() noexcept {
        if (!how_) {
            if (!first_socket_)
                own_waiter_ = platform::make_waiter(platform::steady_clock());
            how_ = first_socket_ ? &first_socket_->blocking() : own_waiter_.get();
            if (!how_)
                return error::no_memory;
        }
        if (waits_)
            return error::none;
        waits_ = few_;
        room_ = few;
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

    error make_room(std::size_t count) noexcept {
        if (count <= room_)
            return error::none;
        std::unique_ptr<wait_item[]> more(new (std::nothrow) wait_item[count]);
        if (!more)
            return error::no_memory;
        std::copy_n(waits_, std::min(room_, descriptors_), more.get());
        many_ = std::move(more);
        waits_ = many_.get();
        room_ = count;
        return error::none;
    }

    static constexpr std::size_t few = ZMQ_POLLITEMS_DFLT;

    const std::span<watched> items_;
    socket *first_socket_ = nullptr;
    std::size_t descriptors_ = 0;
    std::size_t borrowed_ = 0;  // at most: a socket may be among the items twice
    waiter *how_ = nullptr;
    std::unique_ptr<waiter> own_waiter_;
    union {
        wait_item few_[few];  // written when something is to be waited for
    };
    std::unique_ptr<wait_item[]> many_;  // instead, when few_ are too few
    wait_item *waits_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace

error wait_for_any(std::span<watched> items, long timeout_ms, std::size_t &count) {
    return one_wait(items).run(timeout_ms, count);
}

}  // namespace zlink
