// The work of a socket's thread for the socket while it waits: it reads and writes its connections,
// spins, and arms.
//
// Flow:     whoever does not wait asks events() or read_leased(). The steps of a wait are for
//           `one_wait` alone.
// Threads:  the socket's.
#pragma once

#include <span>
#include <vector>

#include "core/loop_descriptor.hpp"
#include "core/waiter.hpp"
#include "pipe/flow/pace.hpp"
#include "pipe/flow/spins.hpp"
#include "socket/borrower.hpp"
#include "socket/mailbox.hpp"
#include "socket/pipe_table.hpp"

namespace zlink {

class socket_wait {
public:
    /// Parts of the socket around it; all of them outlive this.
    struct environment {
        pipe_table &pipes;
        borrower &leases;
        mailbox &inbox;
        pace &sending;
        waiter &blocking;
        const clock_source &clock;
    };
    explicit socket_wait(const environment &around) noexcept
        : pipes_(around.pipes), leases_(around.leases), inbox_(around.inbox), pace_(around.sending),
          blocking_(around.blocking), clock_(around.clock), spins_(around.clock, around.blocking) {}

    // ---- without waiting ----

    /// Does socket::events().
    error events(short wanted, short &ready, bool reads) noexcept;
    /// Does socket::arm().
    bool arm(short wanted) noexcept;
    /// The wake-up to wait for, made on first use.
    error level(const wakeup *&out) noexcept {
        out = inbox_.level();
        return out ? error::none : make_level(out);
    }
    /// The descriptor of ZMQ_FD. Errors of the system.
    error export_descriptor(int &out) noexcept;
    /// Once ZMQ_FD was asked for; else -1.
    int exported_descriptor() const noexcept { return exported_; }
    /// Whether that is one more than the wake-up has.
    bool has_loop() const noexcept { return loop_ != nullptr; }
    /// The event loop is told by something else too, which the I/O threads raise: they read.
    void leave_loop_alone() noexcept;
    /// Reads, and arms for what comes, once ZMQ_FD was asked for. True when a message is there.
    bool read_and_arm_for_loop();
    /// Reads what is leased.
    bool read_leased() noexcept;
    /// For a thread that has been sending, and now looks for something else: writes what the I/O
    /// thread would only write later.
    void flush_remainder() noexcept;

    // ---- a body that is read into the caller's memory ----

    /// The waits to come may have the next body read there.
    void offer(std::span<std::uint8_t> memory) noexcept { offered_ = memory; }
    /// A body that has been read there and is not `given` to the caller has to stand elsewhere
    /// before that returns.
    void end_offer(const std::uint8_t *given) noexcept;
    /// To copy a large body to the caller's memory has taken so long, which is no work of the
    /// caller's.
    void note_copying(duration taken) noexcept { leases_.note_copying(taken); }

    // ---- a peer that lags ----

    /// The backlog of a sender, and how large it may be.
    struct lag {
        pipe_end &peer;
        backlog_kind kind;
        std::uint64_t near;  // octets

        std::uint64_t ahead() const noexcept {
            return kind.is_large ? peer.backlog().large_octets() : peer.backlog().about_octets();
        }
    };
    /// Writes and spins until the peer is near. True when it is not, and one sleep may help: the
    /// leases are in use then.
    bool spin_for_lagging_peer(const lag &of) noexcept;
    void note_lag(const lag &of) noexcept { spins_.note(spin::lag, of.ahead() <= of.near); }

private:
    friend class one_wait;

    // The steps of a wait, in this order.

    /// Takes the connections that are leased to this thread into use. They are waited for together
    /// with the level, as list_leased() says. True when something could be read at once: look again
    /// instead of waiting. `is_alone`: the thread waits for nothing else, and may look a while for
    /// what its peer does.
    bool borrow(short wanted, bool is_alone, time_point deadline) noexcept;
    std::size_t leased() const noexcept { return leases_.size(); }
    /// Says that the thread is about to wait on the level; false when there is something to look at
    /// first.
    bool begin_wait() noexcept {
        pace_.note_wait();
        leases_.return_unread();
        return !leases_.is_recalled() && inbox_.begin_wait();
    }
    /// Does begin_wait() for a wait within a call, which is none of the socket's.
    bool begin_wait_within_call() noexcept { return inbox_.begin_wait(); }
    /// Returns the number of items. A second time in one wait it is 0.
    std::size_t list_leased(wait_item *items, time_point now) noexcept { return leases_.list(items, now); }
    void end_wait() noexcept { inbox_.end_wait(); }
    /// After a wait: goes on with what is ready of what was listed.
    void go_on_with_leased(time_point now) noexcept { (void)leases_.go_on(now); }
    bool has_offer() const noexcept { return !offered_.empty(); }
    /// Whether the caller's memory holds part of a body after all that could be read was, and there
    /// is time for the rest.
    bool fills_offer(time_point deadline) noexcept;
    /// Ends the use of what is borrowed.
    void return_leases() noexcept {
        leases_.end([this](pipe_end &pipe) { look_again(pipe); });
    }
    /// It is leased, and so not armed.
    void look_again(pipe_end &pipe) noexcept {
        if (pipe.slot.is_attached())
            pipes_.look_for_input(pipe);
    }
    /// The wait is over, and what it brought is read: from `now` on the thread works.
    void note_wait_over(time_point now) noexcept { leases_.note_wait_over(now); }

    error look(short wanted, short &ready, bool reads) noexcept;
    bool may_borrow_for_loop() const noexcept { return loop_ && !is_loop_told_otherwise_; }
    void hear_of_streams() noexcept;
    bool read_for_loop() noexcept;
    void hear_of_new_leases() noexcept;
    void give_back_what_a_loop_has() noexcept;
    error look_and_arm(short wanted, short &ready, bool reads) noexcept;
    error make_level(const wakeup *&out) noexcept;
    /// Null when memory is short.
    wait_item *room_for_waits(std::size_t count) noexcept;
    bool read_ready() noexcept;
    struct facts;
    bool spin_before_sleep(short wanted, bool is_alone) noexcept;
    bool try_read_first() noexcept;
    bool spin_for_answer() noexcept;
    bool spin_for_rest() noexcept;
    bool spin_for_credit() noexcept;
    bool spin_for_peer(bool reads) noexcept;
    template <class IsThere>
    bool spin_for_room(IsThere &&is_there) noexcept;

    pipe_table &pipes_;
    borrower &leases_;
    mailbox &inbox_;
    pace &pace_;
    waiter &blocking_;
    const clock_source &clock_;
    spins spins_;
    int exported_ = -1;                      // by ZMQ_FD
    std::unique_ptr<loop_descriptor> loop_;  // what that is, unless it is the level
    bool is_loop_told_otherwise_ = false;    // of input, by who reads
    std::span<std::uint8_t> offered_;        // what a zmq_recv gave, while it waits
    std::vector<wait_item> waits_;           // scratch
};

}  // namespace zlink
