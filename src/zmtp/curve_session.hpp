// The keys that a CURVE handshake hands to the traffic behind it: RFC 26/CurveZMQ, "The MESSAGE
// Command".
#pragma once

#include <cstdint>

#include "core/curve_secret_key.hpp"

namespace zlink {

/// The result of a CURVE handshake, for the traffic behind it.
struct curve_session {
    curve_secret_key shared;  // of both short-term keys, as crypto_box_beforenm makes it
    bool is_server = false;   // this side's nonces carry the server's prefix
    // Short nonce of the last box of the handshake that this side sealed.
    std::uint64_t last_sent = 0;
    std::uint64_t last_received = 0;  // of the last one that this side opened
    bool batches = false;             // both sides announced that one box may hold several frames
};

}  // namespace zlink
