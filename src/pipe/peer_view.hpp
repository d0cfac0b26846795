// A peer of a socket, or an address that it connects to, as people look at it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/waiter.hpp"
#include "pipe/account.hpp"

namespace zlink {

struct peer_view {
    enum class state { connecting, handshaking, ready, closing };

    std::uint64_t id = 0;  // among the peers of a socket, as long as it has it
    std::string endpoint;  // as bound or connected to
    std::string address;   // of the far side, with its transport; empty while there is none
    std::string routing_id;
    std::string user_id;
    const char *mechanism = "NULL";
    state at = state::connecting;
    bool is_connecting = false;  // this side dials
    duration ready_for{};        // since its handshake was done; 0 while it is not, and over inproc

    passage out;                    // by the socket, into the queue of the peer
    passage in;                     // from the peer, to the application
    std::uint64_t dropped_hwm = 0;  // messages that its queue had no room for
    amount highest_out;             // the most that was seen to wait
    amount highest_in;
    std::uint64_t subscriptions = 0;  // of a PUB or XPUB: that this peer has
    const char *tls_version = "";     // as OpenSSL calls it
    std::uint64_t round_trips = 0;    // answers to a PING
    std::chrono::nanoseconds last_round_trip{0};
    std::chrono::nanoseconds round_trip_sum{0};
};

}  // namespace zlink
