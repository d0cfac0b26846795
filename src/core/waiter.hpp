// Contracts: how a caller blocks, and how another thread wakes it. `poll(2)` or `epoll(7)` in life,
// an actor in the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "core/error.hpp"
#include "core/numbers.hpp"
#include "memory/times.hpp"

namespace zlink {

/// Read by everything that needs the time; the context hands one down.
class clock_source {
public:
    virtual ~clock_source() = default;
    virtual time_point now() const noexcept = 0;
    /// time_point::max() never passes, and the time is not asked for.
    bool has_passed(time_point deadline) const noexcept {
        return deadline != time_point::max() && now() >= deadline;
    }
};

/// A level that one thread raises and another waits for. Belongs to one socket.
class wakeup {
public:
    virtual ~wakeup() = default;
    /// Makes a present or the next wait return. Any thread; never blocks; no more than one system
    /// call. Once the level is up it touches nothing of this object, which the owner may destroy
    /// when clear() has found it up.
    virtual void signal() noexcept = 0;
    /// Lowers the level; whether it was up. The owner's thread.
    virtual bool clear() noexcept = 0;
    /// The descriptor that is readable while the level is up; -1 where there is none (simulator).
    virtual int descriptor() const noexcept = 0;
    std::uint64_t opening() const noexcept { return opening_; }

private:
    const std::uint64_t opening_ = new_number.openings.next();
};

/// A descriptor of the application's, or of a socket, in one blocking call. Whoever makes one says
/// all of it.
struct wait_item {
    int descriptor;
    short events;  // POLLIN, POLLOUT, ... of poll(2)
    short revents;
    const wakeup *level;    // of sockets: what `descriptor` stands for; else null
    std::uint64_t opening;  // of the descriptor; 0: not known, as that of an application's
};

/// The time for which a thread leaves spins out after a dear one. On a busy machine, and where a
/// quota is used up, the system takes the processor from a thread in the middle of a spin, and
/// gives it to strangers for milliseconds. What was looked for is often there after that: it has
/// waited. Who sleeps is woken sooner, even there.
class spin_rest {
public:
    /// The thread looks again and again, and `taken` has passed between two looks that follow each
    /// other, or almost, the later one at `now`. True when it was kept from the processor: then it
    /// rests.
    bool note(duration taken, time_point now) noexcept {
        if (taken < least_dear)
            return false;
        until_ = now + std::min<duration>(taken * times_as_long, longest);
        return true;
    }
    /// The time is asked for only while there may be a rest.
    bool is_over(const clock_source &clock) noexcept {
        if (until_ == time_point{})
            return true;
        if (clock.now() < until_)
            return false;
        until_ = {};
        return true;
    }

    // More than any look takes.
    static constexpr duration least_dear = std::chrono::milliseconds(1);
    static constexpr int times_as_long = 16;
    static constexpr duration longest = std::chrono::seconds(1);

private:
    time_point until_{};
};

/// The pace of a thread, on all its sockets together.
struct sending_thread {
    time_point last{};                  // when it found a connection asleep, or had written for it
    unsigned writes_without_pause = 0;  // for connections that were asleep
    bool has_waited = false;            // for whatever socket, since it wrote for one last
    duration in_large_writes{};         // spent so far writing large bodies for which it might wait
    spin_rest rest;
};

class loop_descriptor;

class waiter {
public:
    virtual ~waiter() = default;
    /// Creates a wakeup; too_many_files and the like when the system refuses.
    virtual error make_wakeup(std::unique_ptr<wakeup> &out) noexcept = 0;
    /// Creates what an event loop waits on instead of `level`; not_supported where there is no such
    /// thing.
    virtual error make_loop_descriptor(const wakeup &, std::unique_ptr<loop_descriptor> &) noexcept {
        return error::not_supported;
    }
    /// Blocks until an item is ready or `deadline` has passed; time_point::max() waits for ever.
    /// Returns none, timed_out, interrupted (a signal was handled) or an error of poll(2).
    virtual error wait(std::span<wait_item> items, time_point deadline) noexcept = 0;
    /// wait() for a call of the application's: whoever cancels the thread ends it here. The stack
    /// is unwound then, and what is on it must put back what it has taken.
    virtual error wait_as_caller(std::span<wait_item> items, time_point deadline) {
        return wait(items, deadline);
    }
    /// The calling thread's, for it alone.
    virtual sending_thread &this_thread() noexcept = 0;
    /// Whether this thread may look again and again instead of waiting, and another one can go on
    /// meanwhile.
    virtual bool may_spin() const noexcept { return false; }
};

}  // namespace zlink
