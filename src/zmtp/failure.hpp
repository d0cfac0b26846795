// Why a conversation failed: the kinds of failure and the numbers that monitors publish with them.
#pragma once

#include <cstdint>
#include <string_view>

namespace zlink {

enum class failure_kind {
    none,
    protocol,            // the peer broke the protocol; the detail says how
    mechanism_mismatch,  // the two sides are set up for different security mechanisms
    authentication,      // refused; the detail is the status code 300, 400 or 500 (RFC 27/ZAP)
    peer_error,          // the peer sent ERROR with another reason
    peer_dead,           // nothing heard within the heartbeat's limits
    handshake_timeout,   // no complete handshake within ZMQ_HANDSHAKE_IVL
    peer_closed,         // the peer took its leave before the handshake was over
    no_handler,          // a peer was to be judged, and nobody was there to do it
    cut_off,             // this side's application wants no more of the peer
    // The peer's queue was full, and this side's application keeps no such peer.
    too_slow,
};

/// One side has said that it does not want the other: the next attempt is likely to end in the same
/// way.
constexpr bool is_refusal(failure_kind failure) noexcept {
    return failure == failure_kind::authentication || failure == failure_kind::peer_error;
}

/// Detail of a failure: the ZMQ_PROTOCOL_ERROR_ numbers of zmq.h.
using protocol_error = std::uint32_t;

namespace protocol_errors {
constexpr protocol_error unspecified = 0x10000000;
constexpr protocol_error unexpected_command = 0x10000001;
constexpr protocol_error invalid_sequence = 0x10000002;
constexpr protocol_error key_exchange = 0x10000003;
constexpr protocol_error malformed_command = 0x10000011;
constexpr protocol_error malformed_message = 0x10000012;
constexpr protocol_error malformed_hello = 0x10000013;
constexpr protocol_error malformed_initiate = 0x10000014;
constexpr protocol_error malformed_error = 0x10000015;
constexpr protocol_error malformed_ready = 0x10000016;
constexpr protocol_error malformed_welcome = 0x10000017;
constexpr protocol_error invalid_metadata = 0x10000018;
constexpr protocol_error cryptographic = 0x11000001;
constexpr protocol_error mechanism_mismatch = 0x11000002;
constexpr protocol_error zap_malformed_reply = 0x20000001;
constexpr protocol_error zap_bad_request_id = 0x20000002;
constexpr protocol_error zap_bad_version = 0x20000003;
constexpr protocol_error zap_invalid_status_code = 0x20000004;
constexpr protocol_error zap_invalid_metadata = 0x20000005;
constexpr protocol_error websocket = 0x30000000;
}  // namespace protocol_errors

/// The words for a person of a failure that nobody has said more of; empty where that is nothing.
std::string_view describe(failure_kind failure, protocol_error detail) noexcept;

}  // namespace zlink
