// Contract of a security handshake: what follows the greeting, up to the point where messages may
// flow.
//
// Flow:     start() once both greetings are known to name this mechanism, then receive() for each
//           command, until one of them says complete or failed. Commands to send are appended to
//           `out`, whole frames, also on failure. One that says waiting gets nothing before judge()
//           has told it what became of its credentials().
// Input:    receive() gets what parse_command accepted; everything in it may still be hostile.
// Errors:   only std::bad_alloc is thrown.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/authenticator.hpp"
#include "core/peer_info.hpp"
#include "core/settings.hpp"
#include "zmtp/command.hpp"
#include "zmtp/curve_session.hpp"
#include "zmtp/failure.hpp"

namespace zlink {

class mechanism {
public:
    enum class progress { unfinished, waiting, complete, failed };
    struct outcome {
        progress status = progress::unfinished;
        failure_kind failure = failure_kind::none;
        protocol_error detail = 0;
        bool may_retry = true;
        // They tell of the failure, where there is more to say than its kind and detail do.
        std::string words = {};
    };

    using time_point = std::chrono::steady_clock::time_point;

    virtual ~mechanism() = default;
    mechanism() = default;
    mechanism(const mechanism &) = delete;
    mechanism &operator=(const mechanism &) = delete;

    /// The name that both greetings give.
    virtual std::string_view name() const noexcept = 0;
    /// The role our greeting announces.
    virtual bool as_server() const noexcept = 0;
    virtual outcome start(std::vector<std::uint8_t> &out) = 0;
    /// Fills `info` with what the peer says of itself.
    virtual outcome receive(const command &received, peer_info &info, std::vector<std::uint8_t> &out) = 0;
    /// The time that receive() takes for that.
    enum class effort {
        little,
        of_stranger,  // public keys are computed with, for somebody who has proven nothing
        of_guest      // the same, for somebody who has come back with what he was given
    };
    virtual effort effort_for(const command &) const noexcept { return effort::little; }
    /// Tells the time at which the next of these is called.
    void tell_time(time_point now) noexcept { now_ = now; }
    /// While it is waiting: what the peer is to be judged by. Throws bad_alloc.
    virtual credentials shown() const { return {std::string(name()), {}}; }
    /// Gives once, when it is complete, what seals the traffic; null where nothing does.
    virtual std::unique_ptr<curve_session> take_session() { return nullptr; }
    /// Ends the wait. `info` gets what the verdict says of the peer.
    outcome judge(const verdict &by, peer_info &info, std::vector<std::uint8_t> &out);

protected:
    /// The peer is accepted; or, of a mechanism that does not insist on it, there was nobody to be
    /// asked.
    virtual outcome go_on(peer_info &, std::vector<std::uint8_t> &) { return {}; }
    virtual bool needs_handler() const noexcept { return true; }
    time_point now() const noexcept { return now_; }

    static outcome fail(protocol_error detail) noexcept {
        return {progress::failed, failure_kind::protocol, detail};
    }
    static outcome fail_without_random() {
        return {progress::failed, failure_kind::none, 0, true, "the system gives no random octets"};
    }

private:
    time_point now_{};
};

constexpr std::size_t max_routing_id = 255;

/// The mechanism the options ask for; null when it is not built in. `options` must outlive it.
std::unique_ptr<mechanism> make_mechanism(const settings &options, bool is_server);

/// The handshake without security: READY both ways (RFC 23/ZMTP 3.1, "The NULL Security
/// Mechanism").
std::unique_ptr<mechanism> make_mechanism_null(const settings &options);
/// The handshake with a user name and a password in clear (RFC 24/ZMTP-PLAIN).
std::unique_ptr<mechanism> make_mechanism_plain(const settings &options);
/// The handshake with keys, of a connection that nobody else can read or change (RFC
/// 25/ZMTP-CURVE). Built in where ZLINK_WITH_CURVE is defined.
std::unique_ptr<mechanism> make_mechanism_curve(const settings &options);

/// The announcement that every mechanism makes of a socket, as a property list: type, routing id,
/// the application's own.
void append_own_properties(std::vector<std::uint8_t> &out, const settings &options);
/// Takes over the properties a peer announced; the outcome is failed for those that break the
/// rules, or for a socket type ours does not talk to: the peer is told why with ERROR.
mechanism::outcome accept_properties(byte_span data, const settings &options, peer_info &info,
                                     std::vector<std::uint8_t> &out);
/// Takes over the routing id that a peer announced, of at most max_routing_id octets, where its
/// socket type (empty: not known) and ours make use of one.
void accept_routing_id(std::string_view id, std::string_view peer_type, const settings &options,
                       peer_info &info);
/// The meaning of a verdict: failed, or unfinished where the peer may come in. `needs_handler`: not
/// where nobody was there to be asked.
mechanism::outcome outcome_of(const verdict &by, bool needs_handler);
/// The meaning of a well-formed or malformed ERROR.
mechanism::outcome judge_error(byte_span data);
/// For a person: why a socket does not talk to a peer of this type, which may be anything.
std::string words_of_other_type(socket_type own, std::string_view peer_type);

}  // namespace zlink
