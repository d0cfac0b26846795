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

private:
    std::array<std::atomic<std::uint64_t>, number_of_counters> values_{};
    const std::shared_ptr<counters> whole_;
};

}  // namespace zlink
