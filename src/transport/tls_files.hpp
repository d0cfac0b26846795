// The files that the options of TLS name: certificate, key, and authorities.
//
// Errors:   what cannot be used is `invalid`, and the reason is left (core/reason.hpp); short memory and descriptors are what they are.
// Threads:  any.
#pragma once

#include <openssl/ssl.h>
#include <string>

#include "core/error.hpp"

namespace zlink {

class tls_files {
public:
    /// The certificate in a file and those that stand behind it, and the key of that one.
    error load_own(SSL_CTX *into, const std::string &cert, const std::string &key,
                   const std::string &password);
    /// Whom to trust, and the revocation lists that stand beside: where there are any, they count.
    error load_authorities(SSL_CTX *into, const std::string &path);

private:
    error read(const std::string &path, std::string &out);
};

}  // namespace zlink
