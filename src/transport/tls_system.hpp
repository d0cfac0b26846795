// The system's authorities, which OpenSSL has parsed: the same for all endpoints of the process,
// for it takes 30 ms and 800 KiB.
//
// Change:   of a file ends them for those that come later; with the last context they go.
// Fork:     a child reads its own: a thread of the parent may have held the store's lock.
// Threads:  any; one lock inside, around which nothing is allocated. It is taken in a tls_section
//           only, so fork() finds it free.
#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "transport/tls_files.hpp"

namespace zlink {

class tls_system {
public:
    /// The authorities that are there, or read now. Null where that fails: the reason is left
    /// (core/reason.hpp). `files` watches what it is made of. In a tls_section. Throws
    /// std::bad_alloc.
    static std::shared_ptr<const tls_system> read(tls_files &files);
    ~tls_system();
    tls_system(const tls_system &) = delete;
    tls_system &operator=(const tls_system &) = delete;

    /// All that `into` trusts is these: it is not to be added to.
    void share(SSL_CTX *into) const noexcept;
    /// `into` trusts these besides others. False when memory is short.
    bool copy(SSL_CTX *into) const noexcept;

private:
    tls_system(std::string paths, X509_STORE *store) noexcept;
    bool is_current(const std::string &paths) const noexcept;

    X509_STORE *const store_;
    const std::string paths_;  // where they stand
    const unsigned generation_;
    tls_files files_;
};

}  // namespace zlink
