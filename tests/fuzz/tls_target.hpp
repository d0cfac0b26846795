// Holds what the fuzz targets of tls share: strangers that speak TLS badly, or speak it well and
// say badly what is inside.
//
// Input:    type:1 | piece:1 | octets. An odd piece: inside TLS, behind a good handshake. Else in
//           its place; where the piece can be divided by four, behind a good handshake, as records.
#pragma once

#include "certificates.hpp"
#include "socket_target.hpp"

#include <csignal>
#include <openssl/err.h>
#include <openssl/ssl.h>

namespace zlink::test {

inline void secure_fuzzed_sockets() {
    static const fuzzed_security files{zlink_test::good().cert, zlink_test::good().key,
                                       zlink_test::good().ca};
    security_of_fuzzed_sockets = &files;
    address_of_fuzzed_sockets = "tls://127.0.0.1:*";
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to a peer that has hung up
}

// OpenSSL over the stranger's descriptor.
class stranger_of_tls {
public:
    stranger_of_tls(raw_peer &octets, bool is_server) : tls_(SSL_new(context(is_server))) {
        timeval patience{patience_ms / 1000, 0};
        ::setsockopt(octets.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        SSL_set_fd(tls_, octets.descriptor());
        is_server ? SSL_set_accept_state(tls_) : SSL_set_connect_state(tls_);
        ZLINK_INVARIANT(SSL_do_handshake(tls_) == 1);
    }
    ~stranger_of_tls() {
        SSL_free(tls_);
        ERR_clear_error();
    }
    bool send(std::string_view octets) {
        return octets.empty() || SSL_write(tls_, octets.data(), static_cast<int>(octets.size())) > 0;
    }

    /// Fewer when the stream ends.
    std::string receive(std::size_t count) {
        std::string out(count, '\0');
        std::size_t have = 0;
        while (have < count) {
            const int n = SSL_read(tls_, out.data() + have, static_cast<int>(count - have));
            if (n <= 0)
                break;
            have += static_cast<std::size_t>(n);
        }
        out.resize(have);
        return out;
    }

private:
    static SSL_CTX *context(bool is_server) {
        static SSL_CTX *const both[] = {SSL_CTX_new(TLS_client_method()), SSL_CTX_new(TLS_server_method())};
        if (is_server && !SSL_CTX_get0_certificate(both[1])) {
            SSL_CTX_use_certificate(both[1], zlink_test::good().server.certificate());
            SSL_CTX_use_PrivateKey(both[1], zlink_test::good().server.key());
        }
        return both[is_server];
    }
    SSL *const tls_;
};

inline void say_over_tls(const fuzzed_speech &speech, unsigned piece, raw_peer &stranger, bool is_server) {
    if (piece % 2 == 1) {
        stranger_of_tls inside(stranger, is_server);
        speech.say_to(inside);
        return;
    }
    if (piece % 4 == 0)
        (void)stranger_of_tls(stranger, is_server);
    speech.say_to(stranger);
}

}  // namespace zlink::test
