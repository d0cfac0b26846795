// The facts about this side that TLS has to know before there is a connection: certificate, key,
// and whom to trust.
//
// Files:    read once, when the context is made. A file that cannot be used is `invalid`, and the
//           reason is left (core/reason.hpp); nobody is asked for a password.
// Resumed:  a client offers the ticket that a server of this context gave it last, once. A server
//           keeps nothing: what it has to know of a client, its certificate and that it was
//           accepted, stands in the ticket, which only this context can open. Nothing is sent
//           before the handshake is over. A verification counts for a limited time
//           (tls_resumption.hpp).
// Threads:  a server's: any, once it is made; a client's: the loop's.
// Owns:     the private key, which OpenSSL wipes when the last connection and the context are gone.
#pragma once

#include <atomic>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/settings.hpp"
#include "transport/tls_files.hpp"
#include "transport/tls_resumption.hpp"

namespace zlink {

class tls_context;

/// The notes of OpenSSL's callbacks on one connection.
struct tls_notes {
    const tls_context *context = nullptr;
    std::string words;  // why the peer's certificate is not accepted
    // Steps of its state machine: each message of a handshake, new keys and tickets too, makes
    // some.
    unsigned steps = 0;
    // The peer, with what ends the connection.
    bool has_alerted = false;
    std::time_t resumable_until = resumption_limit::none;  // known when the handshake is over
};

class tls_context {
public:
    enum class role { server, client };

    /// `peer_name`: a client's peer has to prove this name or numeric address, where there are no
    /// fingerprints. `files`: which have been read. Throws std::bad_alloc. A server with a
    /// certificate whose time is over, or has not come, leaves words of that, and is made all the
    /// same.
    static error make(role as, const settings &options, std::string peer_name, tls_files &files,
                      std::shared_ptr<const tls_context> &out, wall_clock clock = wall_time);
    ~tls_context();
    tls_context(const tls_context &) = delete;
    tls_context &operator=(const tls_context &) = delete;

    bool is_for_server() const noexcept { return role_ == role::server; }
    /// A handler, too, is to say whether a peer is let in by what it has shown.
    bool has_peers_judged() const noexcept { return has_peers_judged_; }
    /// State for one connection, the caller's; null when memory is short. `notes` outlives it.
    SSL *make_connection(tls_notes &notes) const noexcept;
    /// The certificates that a peer has shown beside its own go, for verification has looked at it;
    /// once the connection is open, so does what it found: how long that holds is noted.
    static void forget_chain(SSL *connection, bool is_open) noexcept;

private:
    tls_context(role as, std::string peer_name, std::vector<std::string> fingerprints,
                wall_clock clock) noexcept;
    error load(const settings &options, tls_files &files);
    void set_up_resumption() noexcept;
    void look_at_own_time() const;
    error load_own_certificate(const settings &options, tls_files &files);
    error load_authorities(const settings &options, tls_files &files);
    bool trust_system(bool and_others, tls_files &files);
    bool name_peer(SSL *connection) const noexcept;
    static void follow(const SSL *connection, int where, int) noexcept;
    static tls_notes &notes_of(X509_STORE_CTX *looking) noexcept;
    static bool can_be_told(X509_STORE_CTX *looking, tls_notes &notes);
    static int look_at_certificate(int is_accepted, X509_STORE_CTX *looking) noexcept;
    static bool has_known_fingerprint(X509_STORE_CTX *looking, tls_notes &notes);
    std::time_t limit_of(const SSL *connection) const noexcept;
    static int limit_ticket(SSL *connection, void *) noexcept;
    static SSL_TICKET_RETURN judge_ticket(SSL *connection, SSL_SESSION *session, const unsigned char *,
                                          std::size_t, SSL_TICKET_STATUS status, void *) noexcept;
    static int keep_ticket(SSL *connection, SSL_SESSION *ticket) noexcept;
    void offer_ticket(SSL *connection) const noexcept;

    const role role_;
    const std::string peer_name_;
    const std::vector<std::string> fingerprints_;  // of the peer's certificate; empty: any
    const wall_clock clock_;
    bool has_peers_judged_ = false;
    std::time_t lists_end_ = resumption_limit::none;
    std::shared_ptr<SSL_CTX> shared_;  // a client's also with others (tls_in_use)
    // A client's, from its last connection; it comes with what is read, on whatever thread.
    mutable std::atomic<SSL_SESSION *> ticket_{nullptr};
};

}  // namespace zlink
