// On what terms TLS is spoken, and a rehearsal of whether they work. See tls_terms.hpp.
//
// Map: groups; the terms; the rehearsal.
#include "transport/tls_terms.hpp"

#include <algorithm>
#include <memory>
#include <openssl/err.h>
#include <string>
#include <string_view>

#include "transport/tls_section.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

namespace {

constexpr int least_security_level = 2;  // 112 bits: no RSA key below 2048, no SHA-1
constexpr int most_certificates_between =
    8;  // certificates, of a chain: its own and one that is trusted are its ends

// ---- groups ----

/// By default, best first. An asterisk, where OpenSSL knows it (3.5), has a client send a key at
/// once: of the hybrid, and of X25519 for servers that have no hybrid.
constexpr const char *groups_by_default[] = {"*X25519MLKEM768", "X25519MLKEM768", "*X25519", "X25519",
                                             "P-256"};

bool takes_groups(SSL_CTX *context, const std::string &list) noexcept {
    return SSL_CTX_set1_groups_list(context, list.c_str()) == 1;
}

/// Those of them that this OpenSSL has.
std::string known_groups(SSL_CTX *context) {
    std::string list;
    std::string_view last;
    for (const std::string_view each : groups_by_default) {
        const std::string_view name = each.substr(each.front() == '*');
        if (name == last || !takes_groups(context, std::string(each)))
            continue;
        last = name;
        list.append(list.empty() ? "" : ":").append(each);
    }
    return list;
}

/// The first name of a list that OpenSSL does not know; empty where there is none.
std::string unknown_group(SSL_CTX *context, const std::string &list) {
    for (std::size_t from = 0, to; from < list.size(); from = to + 1) {
        to = std::min(list.find_first_of(":/", from), list.size());
        std::string name = list.substr(from, to - from);
        if (!name.empty() && !takes_groups(context, name))
            return name;
    }
    return {};
}

error set_groups(SSL_CTX *of, const std::string &wanted) {
    if (takes_groups(of, wanted.empty() ? known_groups(of) : wanted))
        return error::none;
    const std::string unknown = unknown_group(of, wanted);
    return refuse(unknown.empty() ? "ZMQ_TLS_GROUPS names no group"
                                  : "ZMQ_TLS_GROUPS: this OpenSSL has no group " + unknown);
}

}  // namespace

// ---- the terms ----

error set_terms(SSL_CTX *of, const settings &options) {
    if (SSL_CTX_set_min_proto_version(of, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(of, TLS1_3_VERSION) != 1)
        return refuse("this OpenSSL has no TLS 1.3");
    if (SSL_CTX_get0_certificate(of))
        return refuse("OpenSSL's configuration (OPENSSL_CONF) has a certificate for everybody");
    SSL_CTX_set_security_level(of, std::max(least_security_level, SSL_CTX_get_security_level(of)));
    SSL_CTX_set_verify(of, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_verify_depth(of, most_certificates_between);
    (void)SSL_CTX_set0_verify_cert_store(of, nullptr);
    (void)SSL_CTX_set0_chain_cert_store(of, nullptr);
    (void)SSL_CTX_clear_options(of, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_NO_TICKET);
    return set_groups(of, options.tls_groups);
}

// ---- the rehearsal ----

namespace {

void free_silently(SSL *connection) noexcept {
    SSL_set_shutdown(connection, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(connection);
}
using ssl_ptr = std::unique_ptr<SSL, openssl_delete<free_silently>>;
using bio_ptr = std::unique_ptr<BIO, openssl_delete<BIO_free>>;

ssl_ptr connection_between(SSL_CTX *with, BIO *in, BIO *out) noexcept {
    ssl_ptr made(SSL_new(with));
    if (!made)
        return made;
    // Without one of its own it would have that of `with`, which asks whose the connection is.
    SSL_set_verify(made.get(), SSL_VERIFY_NONE, [](int, X509_STORE_CTX *) { return 1; });
    BIO_up_ref(in);
    BIO_up_ref(out);
    SSL_set_bio(made.get(), in, out);
    return made;
}

/// Whether it goes on, or is over.
bool goes_on(SSL *connection) noexcept {
    ERR_clear_error();
    const int result = SSL_do_handshake(connection);
    return result == 1 || SSL_get_error(connection, result) == SSL_ERROR_WANT_READ;
}

}  // namespace

error rehearse_handshake(SSL_CTX *with, bool is_server) {
    const bio_ptr there(BIO_new(BIO_s_mem())), back(BIO_new(BIO_s_mem()));
    if (!there || !back)
        return error::no_memory;
    const ssl_ptr client = connection_between(with, back.get(), there.get());
    const ssl_ptr server = is_server ? connection_between(with, there.get(), back.get()) : nullptr;
    if (!client || (is_server && !server))
        return error::no_memory;
    SSL_set_connect_state(client.get());
    bool is_possible = goes_on(client.get());
    if (server) {
        constexpr int most_rounds = 4;  // the server may ask for another key first
        SSL_set_accept_state(server.get());
        SSL_set_num_tickets(server.get(), 0);
        for (int i = 0; i < most_rounds && is_possible && !SSL_is_init_finished(server.get()); ++i)
            is_possible = goes_on(server.get()) && goes_on(client.get());
        is_possible = is_possible && SSL_is_init_finished(server.get());
    }
    return is_possible ? error::none
                       : refuse("no handshake is possible with ZMQ_TLS_GROUPS and OpenSSL's configuration "
                                "(OPENSSL_CONF): " +
                                words_of_openssl(ERR_peek_last_error()));
}

}  // namespace zlink
