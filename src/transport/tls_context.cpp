// One side's certificate, authorities and settings, for all of its connections; see
// tls_context.hpp.
//
// Order:    OpenSSL begins; names of hosts; made and loaded: own certificate, authorities, those of
//           the system; what a handshake calls, with the look at the peer's certificate; sessions
//           that are resumed; the name of a peer.
#include "transport/tls_context.hpp"

#include <algorithm>
#include <cstdlib>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <utility>

#include "core/finally.hpp"
#include "core/reason.hpp"
#include "transport/tls_failures.hpp"
#include "transport/tls_in_use.hpp"
#include "transport/tls_proof.hpp"
#include "transport/tls_section.hpp"
#include "transport/tls_system.hpp"
#include "transport/tls_terms.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

namespace {

/// OpenSSL notes short memory behind failures of any kind: the first note says what it was.
error refuse_by(unsigned long first_note, std::string what) {
    if (ERR_GET_REASON(first_note) == ERR_R_MALLOC_FAILURE)
        return error::no_memory;
    reason::leave(std::move(what) + ": " + words_of_openssl(first_note));
    return error::invalid;
}

struct beginning {
    bool is_made;
    unsigned long first_note;  // why it is not
};

/// I/O threads may outlive main(): where nobody has initialised OpenSSL before, it is never taken
/// down.
beginning begin_openssl() noexcept {
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1)
        return {false, ERR_R_INIT_FAIL};
    tls_failures of_application;
    of_application.take();
    const finally put_back([&] { of_application.put_back(); });
    if (OPENSSL_init_ssl(0, nullptr) != 1)
        return {false, ERR_peek_error()};
    return {tls_section::watch_end(), ERR_R_MALLOC_FAILURE};
}

error start_openssl() {
    if (!tls_section::watch_fork())
        return error::no_memory;
    const tls_section inside;  // a child must not find it half done
    static const beginning first = begin_openssl();
    return first.is_made ? error::none : refuse_by(first.first_note, "OpenSSL cannot be initialised");
}

bool is_numeric_address(const std::string &host) noexcept {
    ASN1_OCTET_STRING *const octets = a2i_IPADDRESS(host.c_str());
    ASN1_OCTET_STRING_free(octets);
    return octets != nullptr;
}

/// The name as certificates have it: without the interface of an IPv6 address, and without the dot
/// of a complete name.
std::string as_certified(std::string host) {
    host.erase(std::min(host.size(), host.find('%')));
    if (host.size() > 1 && host.back() == '.')
        host.pop_back();
    return host;
}

/// Whether OpenSSL has found no revocation list because there is none of that issuer: nobody has
/// said that there must be one of each. It says the same where memory is short, so the store itself
/// is looked through, which takes none.
bool lacks_list_only(X509_STORE_CTX *looking) noexcept {
    if (X509_STORE_CTX_get_error(looking) != X509_V_ERR_UNABLE_TO_GET_CRL)
        return false;
    const X509_NAME *const issuer = X509_get_issuer_name(X509_STORE_CTX_get_current_cert(looking));
    X509_STORE *const store = X509_STORE_CTX_get0_store(looking);
    if (X509_STORE_lock(store) != 1)
        return false;
    const STACK_OF(X509_OBJECT) *const all = X509_STORE_get0_objects(store);
    bool has_none = true;
    for (int i = 0; has_none && i < sk_X509_OBJECT_num(all); ++i) {
        const X509_CRL *const list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(all, i));
        has_none = !list || std::abs(X509_NAME_cmp(X509_CRL_get_issuer(list), issuer)) == 1;
    }
    X509_STORE_unlock(store);
    return has_none;
}

}  // namespace

tls_context::tls_context(role as, std::string peer_name, std::vector<std::string> fingerprints,
                         wall_clock clock) noexcept
    : role_(as), peer_name_(std::move(peer_name)), fingerprints_(std::move(fingerprints)), clock_(clock) {}

tls_context::~tls_context() {
    const tls_section inside;
    openssl_delete<SSL_SESSION_free>()(ticket_.load());
    shared_.reset();
}

error tls_context::make(role as, const settings &options, std::string peer_name, tls_files &files,
                        std::shared_ptr<const tls_context> &out, wall_clock clock) {
    if (const error e = start_openssl(); failed(e))
        return e;
    const tls_section inside;
    if (tls_section::is_over()) {
        reason::leave(words_of_over);
        return error::terminated;
    }
    if (!options.tls_hostname.empty())
        peer_name = options.tls_hostname;
    if (peer_name.starts_with('.'))  // OpenSSL would take it for any name below
        return refuse(peer_name + " is no name that a certificate could be for");
    std::shared_ptr<tls_context> made(
        new tls_context(as, as_certified(std::move(peer_name)), options.tls_fingerprints, clock));
    if (const error e = made->load(options, files); failed(e))
        return e;
    made->lists_end_ = files.lists_end();
    made->has_peers_judged_ = as == role::server && options.tls_zap;
    tls_notes unused;
    SSL *const trial = made->make_connection(unused);
    if (!trial)
        return refuse(made->peer_name_.empty()
                          ? "it is not known what name the server has to prove"
                          : made->peer_name_ + " is no name that a certificate could be for");
    SSL_free(trial);
    if (as == role::server)
        made->look_at_own_time();
    out = std::move(made);
    return error::none;
}

error tls_context::load(const settings &options, tls_files &files) {
    std::string key = role_ == role::client ? tls_in_use::key_of(options) : "";
    tls_in_use *const in_use = key.empty() ? nullptr : tls_in_use::here();
    if (in_use && (shared_ = in_use->find(key, files)))
        return error::none;
    SSL_CTX *const fresh = SSL_CTX_new(TLS_method());
    if (!fresh)
        return refuse_by(ERR_peek_error(), "OpenSSL, as it is configured (OPENSSL_CONF), cannot do TLS");
    shared_ = std::shared_ptr<SSL_CTX>(fresh, openssl_delete<SSL_CTX_free>());
    if (const error e = set_terms(fresh, options); failed(e))
        return e;
    SSL_CTX_set_mode(fresh, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(fresh, 1);
    if (const error e = load_own_certificate(options, files); failed(e))
        return e;
    if (const error e = load_authorities(options, files); failed(e))
        return e;
    if (const error e = rehearse_handshake(fresh, role_ == role::server); failed(e))
        return e;
    SSL_CTX_set_info_callback(fresh, follow);
    set_up_resumption();
    if (in_use)
        in_use->add(std::move(key), shared_, files);
    return error::none;
}

void tls_context::set_up_resumption() noexcept {
    if (role_ == role::client) {
        SSL_CTX_set_session_cache_mode(shared_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(shared_.get(), keep_ticket);
        return;
    }
    // OpenSSL wants one where clients are verified.
    static constexpr unsigned char nobody_else[] = "zlink";
    (void)SSL_CTX_set_session_id_context(shared_.get(), nobody_else, sizeof nobody_else);
    SSL_CTX_set_session_cache_mode(shared_.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(shared_.get(), 1);
    SSL_CTX_set_session_ticket_cb(shared_.get(), limit_ticket, judge_ticket, nullptr);
}

/// The clock may be wrong, and the peers' may be right: it is for them to refuse.
void tls_context::look_at_own_time() const {
    const std::time_t now = clock_();
    std::string words = words_of_validity(SSL_CTX_get0_certificate(shared_.get()), now);
    STACK_OF(X509) *others = nullptr;
    (void)SSL_CTX_get0_chain_certs(shared_.get(), &others);
    for (int i = 0; words.empty() && i < sk_X509_num(others); ++i)
        words = words_of_validity(sk_X509_value(others, i), now);
    if (!words.empty())
        reason::leave("our " + words);
}

error tls_context::load_own_certificate(const settings &options, tls_files &files) {
    if (!options.tls_cert.empty() || !options.tls_key.empty())
        return files.load_own(shared_.get(), options.tls_cert, options.tls_key, options.tls_password);
    return role_ == role::client ? error::none
                                 : refuse("a server needs a certificate: ZMQ_TLS_CERT and ZMQ_TLS_KEY");
}

/// Only an authority that was chosen by hand says who may come to a server: those of the system
/// vouch for anybody.
error tls_context::load_authorities(const settings &options, tls_files &files) {
    const bool verifies =
        role_ == role::client ? options.tls_verify : options.tls_require_client_cert || options.tls_zap;
    if (!verifies)
        return error::none;
    if (!options.tls_verify)
        return refuse(std::string(options.tls_zap ? "ZMQ_TLS_ZAP" : "ZMQ_TLS_REQUIRE_CLIENT_CERT")
                          .append(" 1 and ZMQ_TLS_VERIFY 0 exclude each other"));
    const bool is_free = options.tls_ca.empty() && role_ == role::client;
    const bool trusts_system = options.tls_trust_system < 0 ? is_free : options.tls_trust_system > 0;
    if (options.tls_ca.empty() && !trusts_system)
        return refuse("nobody is trusted: neither ZMQ_TLS_CA nor ZMQ_TLS_TRUST_SYSTEM is set");
    if (trusts_system && !trust_system(!options.tls_ca.empty(), files))
        return refuse("the system's authorities cannot be read");
    if (!options.tls_ca.empty())
        if (const error e = files.load_authorities(shared_.get(), options.tls_ca); failed(e))
            return e;
    SSL_CTX_set_verify(shared_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, look_at_certificate);
    return error::none;
}

bool tls_context::trust_system(bool and_others, tls_files &files) {
    const std::shared_ptr<const tls_system> system = tls_system::read(files);
    if (!system || (and_others && !system->copy(shared_.get())))
        return false;
    if (!and_others)
        system->share(shared_.get());
    // They stay for as long as somebody uses what is made of them.
    const auto both =
        std::make_shared<std::pair<std::shared_ptr<const tls_system>, std::shared_ptr<SSL_CTX>>>(system,
                                                                                                 shared_);
    shared_ = std::shared_ptr<SSL_CTX>(both, both->second.get());
    return true;
}

void tls_context::follow(const SSL *connection, int where, int result) noexcept {
    tls_notes &notes = *static_cast<tls_notes *>(SSL_get_app_data(connection));
    if (where & SSL_CB_LOOP)
        ++notes.steps;
    if (where == SSL_CB_WRITE_ALERT && result >> 8 == SSL3_AL_FATAL)
        notes.has_alerted = true;
    // Tickets may come much later: the time that counts is that of the handshake.
    if ((where & SSL_CB_HANDSHAKE_DONE) && notes.resumable_until == resumption_limit::none)
        notes.resumable_until = notes.context->limit_of(connection);
}

/// The connection that the certificate is shown on.
tls_notes &tls_context::notes_of(X509_STORE_CTX *looking) noexcept {
    const SSL *const connection =
        static_cast<SSL *>(X509_STORE_CTX_get_ex_data(looking, SSL_get_ex_data_X509_STORE_CTX_idx()));
    return *static_cast<tls_notes *>(SSL_get_app_data(connection));
}

/// Whether the peer's own certificate, which has been accepted, is one of those that were named,
/// where any were.
bool tls_context::has_known_fingerprint(X509_STORE_CTX *looking, tls_notes &notes) {
    const std::vector<std::string> &wanted = notes.context->fingerprints_;
    if (wanted.empty() || X509_STORE_CTX_get_error_depth(looking) != 0)
        return true;
    const std::string found = fingerprint_of(X509_STORE_CTX_get_current_cert(looking));
    if (std::find(wanted.begin(), wanted.end(), found) != wanted.end())
        return true;
    X509_STORE_CTX_set_error(looking, X509_V_ERR_APPLICATION_VERIFICATION);
    notes.words = "the peer's certificate is none of those whose fingerprints are known";
    return false;
}

/// Whether a handler can be told of the certificate that OpenSSL accepts.
bool tls_context::can_be_told(X509_STORE_CTX *looking, tls_notes &notes) {
    if (!notes.context->has_peers_judged_ || X509_STORE_CTX_get_error_depth(looking) != 0)
        return true;
    X509 *const certificate = X509_STORE_CTX_get_current_cert(looking);
    std::vector<std::string> unused;
    const char *why = nullptr;
    const error e = prove(certificate, unused, why);
    if (!failed(e))
        return true;
    X509_STORE_CTX_set_error(looking, why ? X509_V_ERR_CERT_REJECTED : X509_V_ERR_OUT_OF_MEM);
    if (why)
        notes.words =
            std::string("nobody can be asked about the certificate: ") + why + ": " + subject_of(certificate);
    return false;
}

/// OpenSSL has looked at one certificate of a chain.
int tls_context::look_at_certificate(int is_accepted, X509_STORE_CTX *looking) noexcept {
    tls_notes &notes = notes_of(looking);
    const bool is_good = is_accepted || lacks_list_only(looking);
    if (is_good && !is_accepted)
        X509_STORE_CTX_set_error(looking, X509_V_OK);
    try {
        if (is_good)
            return has_known_fingerprint(looking, notes) && can_be_told(looking, notes);
        notes.words = words_of_certificate(looking, notes.context->peer_name_);
    } catch (const std::bad_alloc &) {
        // The number says it.
    }
    return 0;
}

SSL *tls_context::make_connection(tls_notes &notes) const noexcept {
    SSL *const made = SSL_new(shared_.get());
    if (!made)
        return nullptr;
    notes.context = this;
    SSL_set_app_data(made, &notes);
    if (role_ == role::server) {
        SSL_set_accept_state(made);
        return made;
    }
    SSL_set_connect_state(made);
    if (name_peer(made)) {
        offer_ticket(made);
        return made;
    }
    SSL_free(made);
    return nullptr;
}

/// OpenSSL's own lists are emptied: there is no call that takes them back.
void tls_context::forget_chain(SSL *connection, bool is_open) noexcept {
    const auto empty = [](STACK_OF(X509) * chain) {
        while (X509 *const last = sk_X509_pop(chain))
            X509_free(last);
    };
    empty(SSL_get_peer_cert_chain(connection));
    if (is_open)
        empty(SSL_get0_verified_chain(connection));
}

// ---- sessions that are resumed ----

std::time_t tls_context::limit_of(const SSL *connection) const noexcept {
    return resumption_limit::after(SSL_get0_verified_chain(connection), lists_end_, clock_());
}

/// A server is about to write a ticket. That of a session which was resumed has the limit already.
int tls_context::limit_ticket(SSL *connection, void *) noexcept {
    if (!SSL_session_reused(connection))
        resumption_limit::note(
            SSL_get_session(connection),
            static_cast<tls_notes *>(SSL_get_app_data(connection))->context->limit_of(connection));
    return 1;
}

/// Whether a server goes by a ticket. It gives a new one each time.
SSL_TICKET_RETURN tls_context::judge_ticket(SSL *connection, SSL_SESSION *session, const unsigned char *,
                                            std::size_t, SSL_TICKET_STATUS status, void *) noexcept {
    switch (status) {
    case SSL_TICKET_SUCCESS:
    case SSL_TICKET_SUCCESS_RENEW: {
        const tls_context *const self = static_cast<tls_notes *>(SSL_get_app_data(connection))->context;
        return resumption_limit::has_come(session, self->clock_()) ? SSL_TICKET_RETURN_IGNORE_RENEW
                                                                   : SSL_TICKET_RETURN_USE_RENEW;
    }
    case SSL_TICKET_EMPTY:
    case SSL_TICKET_NO_DECRYPT:
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    default:
        return SSL_TICKET_RETURN_ABORT;
    }
}

int tls_context::keep_ticket(SSL *connection, SSL_SESSION *ticket) noexcept {
    const tls_notes &notes = *static_cast<tls_notes *>(SSL_get_app_data(connection));
    if (!SSL_session_reused(connection))
        resumption_limit::note(ticket, notes.resumable_until);
    SSL_SESSION_free(notes.context->ticket_.exchange(ticket));
    return 1;  // it is ours now
}

void tls_context::offer_ticket(SSL *connection) const noexcept {
    constexpr std::size_t longest = 8 * 1024;  // a server of zlink takes a ClientHello of 16 KiB
    SSL_SESSION *const ticket = ticket_.exchange(nullptr);
    if (ticket && SSL_SESSION_is_resumable(ticket) && !resumption_limit::has_come(ticket, clock_())) {
        const unsigned char *octets = nullptr;
        std::size_t size = 0;
        SSL_SESSION_get0_ticket(ticket, &octets, &size);
        if (size <= longest)
            (void)SSL_set_session(connection, ticket);
    }
    SSL_SESSION_free(ticket);
}

/// Tells the server whom it is taken for, and has its certificate looked at for that: in the
/// alternative names, not in the subject (RFC 9525).
bool tls_context::name_peer(SSL *connection) const noexcept {
    const bool verifies = (SSL_get_verify_mode(connection) & SSL_VERIFY_PEER) && fingerprints_.empty();
    if (peer_name_.empty())
        return !verifies;
    if (is_numeric_address(peer_name_))
        return !verifies ||
               X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), peer_name_.c_str()) == 1;
    SSL_set_hostflags(connection, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set_tlsext_host_name(connection, peer_name_.c_str()) == 1 &&
           (!verifies || SSL_set1_host(connection, peer_name_.c_str()) == 1);
}

}  // namespace zlink
