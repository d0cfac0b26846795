// Says how long sessions of TLS may be resumed: what was verified in a whole handshake is not
// looked at again until the next one.
//
// Limit:    the first end of a certificate of the chain that was verified, or of a revocation list
//           that it was looked up in, and an age. It is noted in the session, where a ticket has
//           it, too, and goes on with the sessions that are made of it.
// Threads:  any.
#pragma once

#include <ctime>
#include <limits>
#include <openssl/ssl.h>

namespace zlink {

/// Seconds since 1970.
using wall_clock = std::time_t (*)() noexcept;
std::time_t wall_time() noexcept;
/// 0, long ago, for what cannot be read.
std::time_t seconds_of(const ASN1_TIME *when) noexcept;

namespace resumption_limit {

inline constexpr std::time_t none = std::numeric_limits<std::time_t>::max();
/// The limit for sessions that come from each other: who has been let in once is looked at again
/// after this at the latest.
inline constexpr std::time_t longest_chain = 24 * 60 * 60;

/// The end for a handshake that was a whole one and ends at `now`. `chain` is null where nobody was
/// verified.
std::time_t after(const STACK_OF(X509) * chain, std::time_t lists_end, std::time_t now) noexcept;
/// The session is not resumed when memory is short for that.
void note(SSL_SESSION *session, std::time_t limit) noexcept;
/// True as well where a session has none.
bool has_come(SSL_SESSION *session, std::time_t now) noexcept;

}  // namespace resumption_limit

}  // namespace zlink
