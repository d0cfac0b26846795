// A peer that is OpenSSL itself, over a plain socket: it says what a test wants it to, well or
// badly.
#pragma once

#include "certificates.hpp"
#include "raw_peer.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <netinet/tcp.h>

namespace zlink::test {

using zlink_test::identity;

class tls_peer {
public:
    // This is as a client of a socket that was bound, or, of an accepted descriptor, as a server.
    enum class role { client, server };
    tls_peer(raw_peer octets, role as, int version = TLS1_3_VERSION)
        : octets_(std::move(octets)),
          context_(SSL_CTX_new(as == role::client ? TLS_client_method() : TLS_server_method())) {
        SSL_CTX_set_min_proto_version(context_, version);
        SSL_CTX_set_max_proto_version(context_, version);
        SSL_CTX_set_security_level(context_, 0);
        timeval patience{10, 0};
        ::setsockopt(octets_.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(octets_.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        const int on = 1;
        ::setsockopt(octets_.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        is_server_ = as == role::server;
    }
    // With the context of another: it knows that one's tickets.
    tls_peer(raw_peer octets, const tls_peer &other)
        : tls_peer(std::move(octets), other.is_server_ ? role::server : role::client) {
        SSL_CTX_free(std::exchange(context_, other.context_));
        SSL_CTX_up_ref(context_);
    }
    tls_peer(const tls_peer &) = delete;
    tls_peer &operator=(const tls_peer &) = delete;
    ~tls_peer() {
        SSL_free(tls_);
        SSL_CTX_free(context_);
    }

    void use(const identity &whom) {
        SSL_CTX_use_certificate(context_, whom.certificate());
        SSL_CTX_use_PrivateKey(context_, whom.key());
    }
    void require_certificate() {
        SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX *) { return 1; });
    }

    SSL *tls() {
        if (!tls_) {
            tls_ = SSL_new(context_);
            SSL_set_msg_callback(
                tls_, [](int is_written, int, int kind, const void *, std::size_t, SSL *, void *self) {
                    static_cast<tls_peer *>(self)->records_ += !is_written && kind == SSL3_RT_HEADER;
                });
            SSL_set_msg_callback_arg(tls_, this);
            SSL_set_fd(tls_, octets_.descriptor());
            is_server_ ? SSL_set_accept_state(tls_) : SSL_set_connect_state(tls_);
        }
        return tls_;
    }
    bool shake_hands() { return SSL_do_handshake(tls()) == 1; }
    // Sends it octet by octet.
    bool shake_hands_slowly() {
        BIO *const in = BIO_new(BIO_s_mem()), *const out = BIO_new(BIO_s_mem());
        SSL_set_bio(tls(), in, out);
        for (;;) {
            const bool is_over = shake_hands();
            char *octets = nullptr;
            const long size = BIO_get_mem_data(out, &octets);
            if (!octets_.send_slowly({octets, static_cast<std::size_t>(size)}))
                return false;
            (void)BIO_reset(out);
            if (is_over)
                return SSL_set_fd(tls_, octets_.descriptor()) == 1;
            const std::string answer = octets_.receive(1);
            if (answer.empty() || BIO_write(in, answer.data(), 1) != 1)
                return false;
        }
    }
    bool send(const std::string &octets) {
        return SSL_write(tls(), octets.data(), static_cast<int>(octets.size())) ==
               static_cast<int>(octets.size());
    }
    // Each octet in a record of its own.
    bool send_one_by_one(const std::string &octets) {
        for (const char c : octets)
            if (!send(std::string(1, c)))
                return false;
        return true;
    }
    // Exactly so many octets; fewer when the other side ends or is silent.
    std::string receive(std::size_t count) {
        std::string out(count, '\0');
        std::size_t have = 0;
        while (have < count) {
            const int got = SSL_read(tls(), out.data() + have, static_cast<int>(count - have));
            if (got <= 0)
                break;
            have += static_cast<std::size_t>(got);
        }
        out.resize(have);
        return out;
    }
    // Greetings and READY both ways.
    bool shake_hands_of_zmtp(const std::string &type) {
        if (!send(greeting() + ready(type)) || receive(64).size() != 64)
            return false;
        const std::string head = receive(2);
        return head.size() == 2 && receive(static_cast<std::uint8_t>(head[1])).substr(0, 6) == "\5READY";
    }
    // Received so far.
    int records() const { return records_; }
    // Returns what the other side complained of; 0: nothing.
    int alert() {
        const int reason = ERR_GET_REASON(ERR_peek_last_error());
        ERR_clear_error();
        return reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : 0;
    }
    raw_peer &octets() { return octets_; }

private:
    raw_peer octets_;
    SSL_CTX *context_;
    SSL *tls_ = nullptr;
    bool is_server_ = false;
    int records_ = 0;
};

}  // namespace zlink::test
