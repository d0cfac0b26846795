// One wait of a thread: the engine of blocking calls, of zmq_poll, of the pollers and of proxies.
//
// Flow:     a round takes into use what is leased to the thread, spins, arms the sockets, and looks again; only then it sleeps, on their
//           levels, on what is leased and on descriptors of the system together. However it ends, it takes in what it has brought, and
//           the leases end. Whoever has asked looks for what it wants, and goes on with another round. No slices.
// Threads:  the one that holds all the sockets. Whoever cancels it ends it in the sleep; everything is put back then.
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
    /// For a call that blocks: it comes back often, so that what memory it needs stays with the socket. A round without memory is over at
    /// once, as if there were something to look at.
    explicit one_wait(watched &socket_of_call) noexcept;
    ~one_wait() {}
    one_wait(const one_wait &) = delete;
    one_wait &operator=(const one_wait &) = delete;

    /// none: there may be something new. timed_out: nor will there be, after a last look. terminated, interrupted, no_memory, or errors
    /// of poll(2).
    error round(time_point deadline);
    /// The same where the leases of the one socket are in use already, and nothing is armed.
    error sleep_with_leases(time_point deadline);

    bool has_descriptors() const noexcept { return descriptors_ > 0; }
    /// Fills in which descriptors are ready, unless the last round has just done so.
    error look_at_descriptors() noexcept;
    const clock_source &clock() const noexcept { return clock_; }

private:
    static constexpr std::size_t few = ZMQ_POLLITEMS_DFLT;

    static socket_wait &part_of(const watched &item) noexcept;
    bool borrow_and_arm(time_point deadline) noexcept;
    error sleep(time_point deadline);
    error wait(time_point deadline);
    void leave() noexcept;
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
    waiter *how_ = nullptr;
    std::unique_ptr<waiter> own_waiter_;
    union {
        wait_item few_[few];  // written when something is to be waited for
    };
    std::unique_ptr<wait_item[]> many_;  // instead, when few_ are too few
    wait_item *waits_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace zlink
