// The words for failures and their details; see failure.hpp.
#include "zmtp/failure.hpp"

namespace zlink {

namespace {

std::string_view describe_protocol_error(protocol_error detail) noexcept {
    switch (detail) {
    case protocol_errors::unexpected_command:
        return "the peer sent a message or a command where none of its kind may come";
    case protocol_errors::invalid_sequence:
        return "the peer used a nonce of CURVE again, or one that was due before";
    case protocol_errors::key_exchange:
        return "the key that the peer shows does not vouch for its connection to this server";
    case protocol_errors::cryptographic:
        return "what the peer sealed does not open: its keys are not those that are expected here, or "
               "somebody has changed it";
    case protocol_errors::malformed_command:
        return "the peer sent a malformed command";
    case protocol_errors::malformed_error:
        return "the peer sent a malformed ERROR";
    case protocol_errors::malformed_ready:
        return "the peer sent a malformed READY";
    case protocol_errors::malformed_hello:
        return "the peer sent a malformed HELLO";
    case protocol_errors::malformed_initiate:
        return "the peer sent a malformed INITIATE";
    case protocol_errors::malformed_welcome:
        return "the peer sent a malformed WELCOME";
    case protocol_errors::zap_malformed_reply:
    case protocol_errors::zap_bad_request_id:
    case protocol_errors::zap_bad_version:
    case protocol_errors::zap_invalid_status_code:
    case protocol_errors::zap_invalid_metadata:
        return "the answer of the authentication handler is none of ZAP 1.0";
    case protocol_errors::invalid_metadata:
        return "the peer described itself against the rules";
    default:
        return "the peer broke the rules of the protocol";
    }
}

}  // namespace

std::string_view describe(failure_kind failure, protocol_error detail) noexcept {
    switch (failure) {
    case failure_kind::protocol:
        return describe_protocol_error(detail);
    case failure_kind::mechanism_mismatch:
        return "the two sides are set up for different security mechanisms";
    case failure_kind::authentication:
        return "the peer does not accept this side's credentials";
    case failure_kind::peer_error:
        return "the peer refuses the connection";
    case failure_kind::peer_dead:
        return "nothing was heard of the peer within ZMQ_HEARTBEAT_TIMEOUT";
    case failure_kind::handshake_timeout:
        return "the handshake took longer than ZMQ_HANDSHAKE_IVL";
    case failure_kind::peer_closed:
        return "the peer closed the connection during the handshake";
    case failure_kind::no_handler:
        return "no authentication handler is bound to inproc://zeromq.zap.01, or it has not answered";
    case failure_kind::cut_off:
        return "this side has cut the peer off (zlink_disconnect)";
    case failure_kind::too_slow:
        return "the queue of the peer was full, and ZLINK_SLOW_PEER says to disconnect it";
    case failure_kind::none:
        break;
    }
    return {};
}

}  // namespace zlink
