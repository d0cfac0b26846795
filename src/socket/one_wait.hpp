// One wait of a thread: the engine of blocking calls, of zmq_poll, of the pollers and of proxies.
//
// Flow:     a round has four steps. It *looks*: takes into use what is leased to the thread, spins,
//           has the sockets say when there is something new, and looks again. It *arms*: says of
//           each socket that it is about to sleep, and lists their levels, what is leased, and
//           descriptors of the system. It *sleeps* on all of that together: the only step that
//           blocks. It *disarms*, however it ends: takes in what it has brought, and the leases
//           end. The caller looks for what it wants, and goes on with another round. No slices.
// Steps:    whoever cannot block takes them one by one, and leaves between arm() and disarm(), as a
//           coroutine does. Until it is back the sockets must not be used, and the connections that
//           are listed are read by nobody: it should come as soon as something is ready. round() is
//           the four in a row.
// Threads:  the one that holds all the sockets. A cancellation ends it in the sleep; everything is
//           put back then.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/error.hpp"
#include "core/waiter.hpp"
#include "zmq.h"

namespace zlink {

class socket;
class socket_wait;

/// One thing to wait for. Events are the ZMQ_POLL ones. Whoever makes one says all of it.
struct watched {
    socket *which;  // null: a descriptor of the system
    int descriptor;
    short wanted;
    short ready;
};

class one_wait {
public:
    explicit one_wait(std::span<watched> items) noexcept;
    /// For a call that blocks: it comes back often, so that what memory it needs stays with the
    /// socket. A round without memory is over at once, as if there were something to look at.
    explicit one_wait(watched &socket_of_call) noexcept;
    /// For a call that has begun, and is no wait of its own for the socket: leases, and what is
    /// known of the thread's waits and work, stay as they are. sleep_within_call() is for it.
    struct within_call {};
    one_wait(std::span<watched> items, within_call) noexcept;
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
    /// A round where nothing is to be looked for but commands, which the caller takes in before.
    error sleep_within_call(time_point deadline) {
        const error e = after_look(deadline);
        return !failed(e) && over_at_ >= deadline ? error::timed_out : e;
    }

    // ---- the steps of a round, in this order ----

    /// True when there is something to attempt: the round ends with over_at_once() then, which says
    /// none, or timed_out.
    bool look(time_point deadline) noexcept;
    error over_at_once(time_point deadline) noexcept;
    struct arming {
        error failure = error::none;
        // Else an attempt comes first, always while a call is short of memory.
        bool may_sleep = true;
    };
    /// Lists what to sleep on, and says that it is slept on. disarm() has to follow, at once when
    /// nobody may sleep.
    arming arm() noexcept;
    /// After arm(): what has to be waited for, until disarm(). Who waits elsewhere fills in
    /// `revents`, and calls note_slept() instead of sleep().
    std::span<wait_item> listed() const noexcept { return {waits_, listed_end_}; }
    error sleep(time_point deadline);
    /// `is_ready`: an item is.
    void note_slept(bool is_ready) noexcept { is_ready_ = is_ready; }
    /// Ends the round, and takes in what it has brought.
    void disarm() noexcept;

    bool has_descriptors() const noexcept { return descriptors_ > 0; }
    /// Fills in which descriptors are ready, unless the last round has just done so.
    error look_at_descriptors() noexcept;
    const clock_source &clock() const noexcept { return clock_; }

private:
    static constexpr std::size_t few_items = ZMQ_POLLITEMS_DFLT;
    static socket_wait &wait_of(const watched &item) noexcept;
    error after_look(time_point deadline);

    void count_descriptors() noexcept;
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
    enum class kind : std::uint8_t { of_items, of_call, within_call };
    const kind kind_;
    std::size_t descriptors_ = 0;
    std::size_t leased_ = 0;  // at most: a socket may be among the items twice
    bool is_ready_ = false;   // an item, as the sleep has found; nobody has looked yet
    bool is_fresh_ = false;   // what descriptors were found ready
    time_point over_at_{};    // when the last round that may have slept was
    waiter *how_ = nullptr;
    std::unique_ptr<waiter> own_waiter_;
    std::array<wait_item, few_items> few_;  // written when something is to be waited for
    std::unique_ptr<wait_item[]> many_;     // instead, when few_ are too few
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
