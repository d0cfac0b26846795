// Contract of a conversation with one peer, as the driver of a connection leads it: what was heard
// goes in, what is to be done comes out. Pure. `peer` speaks ZMTP, `raw_conversation` says nothing,
// `web_conversation` leads either over WebSocket.
//
// Flow:     `resume(event)` takes what happened and returns one action. Octets to send collect in
//           output(); the driver writes them before anything from the queue. The driver calls again
//           with the rest of the input while an action consumed some.
// Cost:     what the driver asks for with every read or write is a load.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/authenticator.hpp"
#include "core/bytes.hpp"
#include "core/peer_info.hpp"
#include "core/settings.hpp"
#include "core/web_place.hpp"
#include "core/wipe.hpp"
#include "zmtp/failure.hpp"
#include "zmtp/framing.hpp"
#include "zmtp/heartbeat.hpp"

namespace zlink {

class conversation {
public:
    using time_point = std::chrono::steady_clock::time_point;

    enum class event_kind { start, octets, command, time, verdict, turn };
    struct event {
        event_kind kind;
        // With octets: what arrived; command: body of a command frame seen in traffic.
        byte_span bytes{};
        time_point now{};  // time, and start; elsewhere what note_traffic() said last counts
        const zlink::verdict *answer = nullptr;  // verdict
        // turn: the time for what is costly has come
    };

    enum class action_kind {
        wait,  // nothing (more) to do now: write output(), read on, come back at deadline()
        // Find out who shown() is, and come back with a verdict. Nothing but that and `time` may
        // come before it.
        authenticate,
        // The next step takes long: come back with a turn, when others have had theirs. Nothing
        // but that and `time` may come before it.
        costly,
        // Said once: the handshake is over, info() and framing() stand; what follows is traffic.
        established,
        subscribe,  // traffic: the peer subscribes to `topic`
        cancel,     // traffic: the peer takes a subscription back
        // In traffic: the peer has lost `lost` messages for this side; 0 is an unknown number.
        gap,
        // Write output() as far as it goes at once, then close; `failure` and `may_retry` say why.
        close,
    };
    using failure_kind = zlink::failure_kind;
    struct action {
        action_kind kind = action_kind::wait;
        std::size_t consumed = 0;  // octets of event.bytes that were used up
        byte_span topic{};         // subscribe, cancel: inside event.bytes
        std::uint64_t lost = 0;    // gap
        failure_kind failure = failure_kind::none;
        protocol_error detail = 0;
        bool is_of_stranger = false;  // costly: the peer has proven nothing yet
        // With established: the peer tells no subscriptions, and chooses from what it is sent.
        bool takes_all = false;
        std::chrono::nanoseconds round_trip{
            // In traffic: the time that the peer took to answer, where it has.
            -1};
        // False after ERROR: the same credentials will fail again (RFC 23).
        bool may_retry = true;
        // With close: for want of it; what output() holds tells nothing of that.
        bool is_short_of_memory = false;
        // And behind the octets that were used up stand frames of ZMTP in the clear.
        bool has_clear_rest = false;
    };

    virtual ~conversation() { drop_output(); }
    conversation(const conversation &) = delete;
    conversation &operator=(const conversation &) = delete;

    virtual action resume(const event &what) = 0;
    /// When to resume with `time` next; time_point::max() for never.
    virtual time_point deadline() const noexcept = 0;
    /// Any octets arrived: the peer is alive. Cheap.
    virtual void note_traffic(time_point now) noexcept = 0;
    /// The peer has taken octets since the last `time`. While a question to it waits for the end of
    /// a message, its time to answer has not begun.
    virtual void note_output_held_up(time_point) noexcept {}
    /// All that output() held is written.
    virtual void note_output_written(time_point) noexcept {}
    /// This side ends now. Last words, where there are such, go to output(); nothing may be written
    /// behind them. All that the peer has sent is still taken, and `close` comes when it has taken
    /// its leave, too: how long to wait for that is the driver's to say.
    virtual void say_last_words() noexcept {}
    /// From `authenticate` to the verdict: what the peer is to be judged by. Throws bad_alloc.
    virtual credentials shown() const { return {}; }
    virtual heartbeat_answers answers() const noexcept { return {}; }
    /// Why it has closed, in words for a person, where the failure does not say it all.
    virtual std::string reason() const { return {}; }

    /// From the action on that says so, until it closes.
    bool is_established() const noexcept { return is_established_; }
    /// Octets waiting to be written, in order. The driver removes what it wrote.
    std::vector<std::uint8_t> &output() noexcept { return output_; }
    /// Nothing of what output() held stays, neither as what is to be written nor in memory: it may
    /// have been a password.
    void drop_output() noexcept {
        wipe_octets(output_);
        std::vector<std::uint8_t>().swap(output_);
    }
    /// Commands of traffic, as frames of a queue, that wait to be encoded by a framing which
    /// numbers what it encodes. The driver removes what it encoded.
    std::vector<std::uint8_t> &commands() noexcept { return commands_; }
    /// There is output, or there are commands.
    bool has_words() const noexcept { return !output_.empty() || !commands_.empty(); }
    /// After `established`: properties announced by the peer ("Socket-Type", "Routing-Id" ...) and
    /// its routing id. The driver adds what the stream knows ("Peer-Address", "__fd") before it
    /// shares the record.
    peer_info &info() noexcept { return static_cast<peer_info &>(*info_.get()); }
    /// After `established`: how frames stand on the wire.
    const zlink::framing &framing() const noexcept { return *framing_; }

protected:
    /// Throws bad_alloc.
    conversation() : info_(block_ref::adopt(new peer_info)) {}

    bool is_established_ = false;
    std::vector<std::uint8_t> output_;
    std::vector<std::uint8_t> commands_;
    block_ref info_;  // stands from `established` on
    const zlink::framing *framing_ = &framing_of_zmtp_3_1();
};

/// The one that a socket with these options leads; they must outlive it. `is_server`: this side
/// accepted the connection. `place`: the stream begins as one of a web server's; else null.
/// `memory`: outlives it, null where nobody remembers. Throws bad_alloc.
std::unique_ptr<conversation> make_conversation(const settings &options, bool is_server,
                                                const web_place *place = nullptr,
                                                web_memory *memory = nullptr);

/// ZMTP.
std::unique_ptr<conversation> make_peer(const settings &options, bool is_server);
/// None.
std::unique_ptr<conversation> make_raw_conversation(const settings &options);
/// WebSocket, and behind it ZMTP or nothing.
std::unique_ptr<conversation> make_web_conversation(const settings &options, bool is_server,
                                                    const web_place &place, web_memory *memory = nullptr);

}  // namespace zlink
