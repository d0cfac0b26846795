// One wait of a thread: the engine of blocking calls, of zmq_poll, of the pollers and of proxies.
//
// Flow:     a round has four steps. It *looks*: takes into use what is leased to the thread, spins,
//           has the sockets say when there is something new, and looks again. It *arms*: says of
//           each socket that it is about to sleep, and lists their levels, what is leased, and
//           descriptors of the system. It *sleeps* on all of that together: the only step that
//           blocks, so that whoever cannot may leave there, and come back when something of the
//           list is ready. It *disarms*, however it ends: takes in what it has brought, and the
//           leases end. The caller looks for what it wants, and goes on with another round. No
//           slices.
// Threads:  the one that holds all the sockets. A cancellation ends it in the sleep; everything is
//           put back then.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/error.hpp"
#include "core/waiter.hpp"
#include "zmq.h"

namespace zlink {

class socket;
class socket_wait;

/// One thing to wait for. Events are the ZMQ_POLL ones.
struct watched {
    socket *which = nullptr;  // null: a descriptor of the system
    int descriptor = -1;
    short wanted = 0;
    short ready = 0;
};

class one_wait {
public:
    explicit one_wait(std::span<watched> items) noexcept;
    /// For a call that blocks: it comes back often, so that what memory it needs stays with the
    /// socket. A round without memory is over at once, as if there were something to look at.
    explicit one_wait(watched &socket_of_call) noexcept;
    ~one_wait() {}
    one_wait(const one_wait &) = delete;
    one_wait &operator=(const one_wait &) = delete;

    /// none: there may be something new. timed_out: nor will there be, after a last look.
    /// terminated, interrupted, no_memory, or errors of poll(2).
    error round(time_point deadline);
    /// Rounds until `attempt` has something else to say than `again`, or has said it once more
    /// after the deadline. It is told whether this is the last time.
    template <class Attempt>
    error go_on(time_point deadline, Attempt &&attempt);
    /// A round where the leases of the one socket are in use already, and nothing is to be looked
    /// for.
    error sleep_with_leases(time_point deadline);

    bool has_descriptors() const noexcept { return descriptors_ > 0; }
    /// Fills in which descriptors are ready, unless the last round has just done so.
    error look_at_descriptors() noexcept;
    const clock_source &clock() const noexcept { return clock_; }

private:
    static constexpr std::size_t few = ZMQ_POLLITEMS_DFLT;
    struct arming {
        error failure = error::none;
        bool may_sleep = true;  // else an attempt comes first, always while a call is short of memory
    };

    static socket_wait &part_of(const watched &item) noexcept;
    // The steps of a round.
    bool look(time_point deadline) noexcept;
    arming arm() noexcept;
    error sleep(time_point deadline);
    void disarm() noexcept;
    error after_look(time_point deadline);

    error over_at_once(time_point deadline) noexcept;
    bool fills_offer(time_point deadline) noexcept;
    void note_descriptors() noexcept;
    time_point note_wait_over() noexcept;
    error prepare() noexcept { return waits_ ? error::none : prepare_first(); }
    error prepare_first() noexcept;
    error make_room(std::size_t count) noexcept {
        return count <= room_ ? error::none : make_more_room(count);
    }
    error make_more_room(std::size_t count) noexcept;

    const std::span<watched> items_;
    socket *first_socket_ = nullptr;
    const clock_source &clock_;
    const bool is_call_;
    std::size_t descriptors_ = 0;
    std::size_t leased_ = 0;  // at most: a socket may be among the items twice
    bool is_ready_ = false;   // an item, as the sleep has found; nobody has looked yet
    bool is_fresh_ = false;   // what descriptors were found ready
    time_point over_at_{};    // when the last round that may have slept was
    waiter *how_ = nullptr;
    std::unique_ptr<waiter> own_waiter_;
    union {
        wait_item few_[few];  // written when something is to be waited for
    };
    std::unique_ptr<wait_item[]> many_;  // instead, when few_ are too few
    wait_item *waits_ = nullptr;
    wait_item *listed_end_ = nullptr;  // of those to sleep on
    std::size_t room_ = 0;
};

template <class Attempt>
[[gnu::always_inline]] inline error one_wait::go_on(time_point deadline, Attempt &&attempt) {
    for (;;) {
        const error waited = round(deadline);
        const bool is_last = waited == error::timed_out;
        if (failed(waited) && !is_last)
            return waited;
        // Events of the last moment still count.
        if (const error e = attempt(is_last); e != error::again || is_last)
            return e;
    }
}

}  // namespace zlink
