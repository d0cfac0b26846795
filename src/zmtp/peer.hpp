// The conversation with one peer as a state machine: greeting, security handshake, commands, heartbeats. Pure.
//
// Flow:     `resume(event)` takes what happened and returns one action. Octets to send collect in output(); the driver
//           writes them before anything from the queue. The driver calls again with the rest of the input while an action
//           consumed some.
// Wire:     RFC 23/ZMTP 3.1 and 3.0. Where no security is asked for, also RFC 15/ZMTP 2.0 and RFC 13/ZMTP 1.0: then no command
//           goes out, and none may come.
// Limits:   handshake commands are at most 64 KiB; nothing is allocated because a peer announced a size.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/bytes.hpp"
#include "core/peer_info.hpp"
#include "core/settings.hpp"
#include "zmtp/failure.hpp"
#include "zmtp/framing.hpp"
#include "zmtp/heartbeat.hpp"
#include "zmtp/mechanism.hpp"

namespace zlink {

class peer {
public:
    /// `options` must outlive the peer. `is_server`: this side accepted the connection.
    peer(const settings &options, bool is_server);
    ~peer();

    enum class event_kind { start, octets, command, time };
    struct event {
        event_kind kind;
        byte_span bytes{};  // octets: what arrived; command: body of a command frame seen in traffic
        heartbeat::time_point now{};  // time, and start; elsewhere what note_traffic() said last counts
    };

    enum class action_kind {
        wait,         // nothing (more) to do now: write output(), read on, come back at deadline()
        established,  // once: the handshake is over, info() and framing() stand; what follows is traffic
        subscribe,    // traffic: the peer subscribes to `topic`
        cancel,       // traffic: the peer takes a subscription back
        close,  // write output() as far as it goes at once, then close; `failure` and `may_retry` say why
    };
    using failure_kind = zlink::failure_kind;
    struct action {
        action_kind kind = action_kind::wait;
        std::size_t consumed = 0;  // octets of event.bytes that were used up
        byte_span topic{};         // subscribe, cancel: inside event.bytes
        failure_kind failure = failure_kind::none;
        protocol_error detail = 0;
        bool takes_all =
            false;  // established: the peer tells no subscriptions, and chooses from what it is sent
        bool may_retry = true;  // false after ERROR: the same credentials will fail again (RFC 23)
    };

    action resume(const event &what);

    bool is_established() const noexcept;
    /// Octets waiting to be written, in order. The driver removes what it wrote.
    std::vector<std::uint8_t> &output() noexcept;
    /// When to resume with `time` next; time_point::max() for never.
    heartbeat::time_point deadline() const noexcept;
    /// Any octets arrived: the peer is alive. Cheap.
    void note_traffic(heartbeat::time_point now) noexcept;

    /// After `established`: properties announced by the peer ("Socket-Type", "Routing-Id" ...) and its routing id. The
    /// driver adds what the stream knows ("Peer-Address", "__fd") before it shares the record.
    peer_info &info() noexcept;
    /// After `established`: how frames stand on the wire.
    const zlink::framing &framing() const noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace zlink
