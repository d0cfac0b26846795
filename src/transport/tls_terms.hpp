// On what terms TLS is spoken: the versions, the groups for keys, and what of OpenSSL's
// configuration holds.
//
// Groups:   those of the list, and no others: a server computes a key before it knows whom for, and
//           whoever replays a ClientHello has computed nothing. Of the finite fields one costs a
//           hundred times what X25519 does.
// File:     what OPENSSL_CONF names acts upon each context as it is made. Taken back is all that
//           zlink has rules or options of its own for: versions, groups, who is verified,
//           certificates and where authorities stand, and sessions resumed without new keys. Cipher
//           suites, signature algorithms, and a level of security above ours hold.
#pragma once

#include <openssl/ssl.h>

#include "core/error.hpp"
#include "core/settings.hpp"

namespace zlink {

/// Sets up a context that has just been made. A fault is `invalid`, and the reason is left
/// (core/reason.hpp). Throws std::bad_alloc.
error set_terms(SSL_CTX *of, const settings &options);

/// Whether there can be a handshake on such terms: a client says how it would begin, a server goes
/// through one with a client of its own terms that lets everything pass, whatever the callback of
/// `with` for certificates says. Errors are as above.
error rehearse_handshake(SSL_CTX *with, bool is_server);

}  // namespace zlink
