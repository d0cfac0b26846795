// The facts in a certificate about its owner, for an authentication handler to judge him by.
//
// Items:    SHA-256 of the certificate, in 32 octets | its subject (RFC 4514) | each of its names,
//           as DNS:, IP: or URI: and the name. Names of other kinds are left out.
// Refused:  what would be read as something else than it is: a NUL inside a name, an address of no
//           kind, a subject that cannot be shown.
// Threads:  any, inside a tls_section.
#pragma once

#include <openssl/x509.h>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace zlink {

/// SHA-256, 32 octets; empty when memory is short. Throws std::bad_alloc.
std::string fingerprint_of(const X509 *certificate);

/// none; invalid, and `why` says of what; or no_memory.
error prove(X509 *certificate, std::vector<std::string> &items, const char *&why) noexcept;

}  // namespace zlink
