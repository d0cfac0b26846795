// The counters of a socket for what happens seldom: messages that end unread, by reason;
// connections that come, go, and do not come about; waits of senders. What happens with each
// message is not counted here: that is told by the pipes.
//
// Sums:     counters may have a whole that they are a part of, and everything is counted there,
//           too: those of a socket are a part of its context's, which outlive it.
// Threads:  any. The counters are independent of each other, and order nothing.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink {

enum class counter : std::uint8_t {
    // Pipes that have gone; the living ones are added when somebody asks. So are the messages that
    // a full one did not take.
    messages_sent,
    messages_received,
    octets_sent,
    octets_received,
    // Messages that end unread, and why
    dropped_hwm,            // the peer had no room, and the type of the socket does not wait
    dropped_no_peer,        // nobody was there to take it
    dropped_unroutable,     // no peer has that address
    dropped_filtered_late,  // came although nothing that is subscribed to matches it any more
    dropped_conflate,       // a newer one came before it was read (ZMQ_CONFLATE)
    dropped_linger,         // the socket was closed, and its time to linger was over
    dropped_too_large,      // larger than ZMQ_MAXMSGSIZE
    dropped_peer_gone,      // its peer went before it was sent whole
    // Received, but the socket was closed or disconnected before it was read.
    dropped_unread,
    // A reply nobody waits for, a request without an envelope, what a poll alone has found.
    dropped_unwanted,
    // Senders that waited for room
    sends_blocked,
    nanoseconds_blocked,
    // Connections
    connects,
    accepts,
    accepts_failed,
    reconnects,  // attempts that follow one that failed, or a connection that broke
    disconnects_peer,
    disconnects_error,
    disconnects_heartbeat,
    disconnects_local,     // this side has closed, or has ended this one
    disconnects_unbind,    // it has disconnected, or unbound
    disconnects_handover,  // a peer with the same routing id has come (ZMQ_ROUTER_HANDOVER)
    // Attempts, by what each follows
    reconnects_ended,  // a connection that the peer or this side has ended
    reconnects_refused,
    reconnects_reset,
    reconnects_timed_out,
    reconnects_host_unreachable,
    reconnects_network_unreachable,
    reconnects_no_entry,
    reconnects_not_permitted,
    reconnects_protocol,
    reconnects_other,
    // Answers to a PING: how many took no longer than each of the bounds, or longer than all, and
    // how long all of them took
    round_trips_first,
    round_trips_last = round_trips_first + 11,
    nanoseconds_of_round_trips,
    // Handshakes that failed: four mechanisms for each reason
    handshakes_failed_first,
    handshakes_failed_last = handshakes_failed_first + 15,
};
constexpr std::size_t number_of_counters = static_cast<std::size_t>(counter::handshakes_failed_last) + 1;

enum class handshake_failure : std::uint8_t { timeout, protocol, auth, other };
/// `mechanism`: as ZMQ_MECHANISM has it, or `no_mechanism`.
constexpr std::size_t no_mechanism = 3;
constexpr std::size_t number_of_mechanisms = 4;
constexpr counter counter_of(handshake_failure why, std::size_t mechanism) noexcept {
    return static_cast<counter>(static_cast<std::size_t>(counter::handshakes_failed_first) +
                                static_cast<std::size_t>(why) * number_of_mechanisms + mechanism);
}

/// The bounds of the classes of round trips, in microseconds; the last class has none.
constexpr std::array<std::uint32_t, 11> round_trip_bounds{100,    250,    500,     1'000,   2'500,    5'000,
                                                          10'000, 25'000, 100'000, 250'000, 1'000'000};
constexpr std::size_t number_of_round_trip_classes = round_trip_bounds.size() + 1;
constexpr counter counter_of_round_trip(std::size_t which) noexcept {
    return static_cast<counter>(static_cast<std::size_t>(counter::round_trips_first) + which);
}
constexpr counter counter_of_round_trip(std::chrono::nanoseconds time) noexcept {
    std::size_t which = 0;
    while (which < round_trip_bounds.size() && time > std::chrono::microseconds(round_trip_bounds[which]))
        ++which;
    return counter_of_round_trip(which);
}

class counters {
public:
    explicit counters(std::shared_ptr<counters> whole = {}) noexcept : whole_(std::move(whole)) {}

    void add(counter what, std::uint64_t more = 1) noexcept {
        values_[static_cast<std::size_t>(what)].fetch_add(more, std::memory_order_relaxed);
        if (whole_)
            whole_->add(what, more);
    }
    std::uint64_t get(counter what) const noexcept {
        return values_[static_cast<std::size_t>(what)].load(std::memory_order_relaxed);
    }

    /// Descriptors of connections, listeners and event loops that are open now.
    void add_descriptors(int more) noexcept {
        descriptors_.fetch_add(more, std::memory_order_relaxed);
        if (whole_)
            whole_->add_descriptors(more);
    }
    std::uint64_t descriptors() const noexcept {
        const std::int64_t now = descriptors_.load(std::memory_order_relaxed);
        return now > 0 ? static_cast<std::uint64_t>(now) : 0;
    }

    /// Numbers move here from where they were told so far: whoever adds both up meanwhile misses
    /// them, or has them twice. Moves may overlap.
    class move {
    public:
        explicit move(counters &to) noexcept : to_(to) { to_.note_move(&counters::moves_begun_); }
        ~move() { to_.note_move(&counters::moves_ended_); }
        move(const move &) = delete;
        move &operator=(const move &) = delete;

    private:
        counters &to_;
    };
    std::uint64_t moves_ended() const noexcept { return moves_ended_.load(std::memory_order_seq_cst); }
    /// Whether nothing has moved since moves_ended() was this.
    bool has_stood_still(std::uint64_t ended) const noexcept {
        return moves_begun_.load(std::memory_order_seq_cst) == ended;
    }

private:
    void note_move(std::atomic<std::uint64_t> counters::*which) noexcept {
        (this->*which).fetch_add(1, std::memory_order_seq_cst);
        if (whole_)
            whole_->note_move(which);
    }

    std::array<std::atomic<std::uint64_t>, number_of_counters> values_{};
    std::atomic<std::int64_t> descriptors_{0};
    std::atomic<std::uint64_t> moves_begun_{0};
    std::atomic<std::uint64_t> moves_ended_{0};
    const std::shared_ptr<counters> whole_;
};

}  // namespace zlink
