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
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zlink {

/// The order is that of the fields of zlink_stats_t.
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
    dropped_unread,         // received, but the socket was closed or disconnected before it was read
    dropped_unwanted,       // a reply nobody waits for, a request without an envelope
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
    disconnects_local,
    handshakes_failed_timeout,
    handshakes_failed_protocol,
    handshakes_failed_auth,
    handshakes_failed_other,
};
constexpr std::size_t number_of_counters = static_cast<std::size_t>(counter::handshakes_failed_other) + 1;

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
    std::atomic<std::uint64_t> moves_begun_{0};
    std::atomic<std::uint64_t> moves_ended_{0};
    const std::shared_ptr<counters> whole_;
};

}  // namespace zlink
