// The conversation with a peer that speaks ZMTP, as a state machine: greeting, security handshake,
// commands, heartbeats. Pure.
//
// Flow:     that of every conversation.
// Wire:     RFC 23/ZMTP 3.1 and 3.0. Where no security is asked for, also RFC 15/ZMTP 2.0 and RFC
//           13/ZMTP 1.0: then no command goes out, and none may come.
// Waits:    for a verdict, where the mechanism has the peer judged, and for its turn, where a step
//           of the mechanism is costly. What the peer sends meanwhile is not taken.
// Limits:   handshake commands are at most 64 KiB; nothing is allocated because a peer announced a
//           size.
#pragma once

#include <memory>

#include "zmtp/conversation.hpp"

namespace zlink {

class peer final : public conversation {
public:
    /// The words that the two sides begin with. When they are no greeting, what carries the
    /// conversation has said already what it would say, and looks after the time: there are no
    /// heartbeats.
    enum class first_words { greeting, handshake, identity };

    /// `options` must outlive the peer. `is_server`: this side accepted the connection. `carrier`:
    /// the framing that its frames of traffic are put into, where that is not one of ZMTP itself;
    /// it outlives the peer.
    peer(const settings &options, bool is_server, first_words first = first_words::greeting,
         const zlink::framing *carrier = nullptr);
    ~peer() override;

    action resume(const event &what) override;
    time_point deadline() const noexcept override;
    void note_traffic(time_point now) noexcept override;
    void note_output_held_up(time_point now) noexcept override;
    void note_output_written(time_point now) noexcept override;
    credentials shown() const override;
    heartbeat_answers answers() const noexcept override;
    std::string reason() const override;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace zlink
