// The common part of the two roles of the CURVE handshake: sizes, prefixes of nonces, and the
// properties inside INITIATE and READY.
//
// Wire:     RFC 26/CurveZMQ, as libzmq writes it. C and S are the two sides' long-term keys, C' and
//           S' those of one connection; small letters are their secret halves. Box[x](a->B) is
//           sealed with a and B.
//           client: HELLO     1 | 0 | 72 zeros | C' | short nonce | Box[64 zeros](c'->S)
//           server: WELCOME   long nonce | Box[S' | cookie](s->C'),  a cookie: long nonce | secret
//               box[C' | s'], with a key drawn for it
//           client: INITIATE  cookie | short nonce | Box[C | vouch | properties](c'->S'),  a vouch:
//           long nonce | Box[C' | S](c->S')
//           server: READY     short nonce | Box[properties](s'->C'), or ERROR in clear instead
#pragma once

#include <string_view>
#include <vector>

#include "core/settings.hpp"
#include "zmtp/command.hpp"
#include "zmtp/curve_crypto.hpp"

namespace zlink::curve {

namespace prefix {
constexpr std::string_view hello = "CurveZMQHELLO---";
constexpr std::string_view welcome = "WELCOME-";
constexpr std::string_view cookie = "COOKIE--";
constexpr std::string_view initiate = "CurveZMQINITIATE";
constexpr std::string_view vouch = "VOUCH---";
constexpr std::string_view ready = "CurveZMQREADY---";
}  // namespace prefix

constexpr std::size_t version_size = 2;
constexpr std::size_t padding_size = 72;  // so that HELLO is longer than what it is answered with
constexpr std::size_t signature_size = 64;
constexpr std::size_t hello_size =
    version_size + padding_size + key_size + short_nonce_size + box_overhead + signature_size;
constexpr std::size_t cookie_size = long_nonce_size + box_overhead + 2 * key_size;
constexpr std::size_t welcome_size = long_nonce_size + box_overhead + key_size + cookie_size;
constexpr std::size_t vouch_size = long_nonce_size + box_overhead + 2 * key_size;
constexpr std::size_t least_initiate_size =
    cookie_size + short_nonce_size + box_overhead + key_size + vouch_size;
constexpr std::size_t least_ready_size = short_nonce_size + box_overhead;

/// A key of the options, which may be missing: then it is zeros, as in libzmq.
byte_span key_of(std::string_view option) noexcept;

/// Writes what one side says of itself, and that it can take several frames in one box.
void append_properties(std::vector<std::uint8_t> &out, const settings &options, bool is_server);
/// Whether the other side says so, too. Each role has a value of its own: what one has said cannot
/// be played back to it.
bool announces_batches(byte_span properties, bool is_server);

}  // namespace zlink::curve
