// Files of certificates and keys on their way to OpenSSL. See tls_files.hpp.
//
// Map: change; reading; what OpenSSL makes of it; certificates; the key; authorities.
#include "transport/tls_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/finally.hpp"
#include "core/reason.hpp"
#include "core/settings.hpp"
#include "core/tuning.hpp"
#include "transport/tls_key.hpp"
#include "transport/tls_section.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

namespace {

constexpr std::size_t most_octets_in_file = 64 << 20;

void free_all(STACK_OF(X509_INFO) * all) noexcept { sk_X509_INFO_pop_free(all, X509_INFO_free); }
using bio_ptr = std::unique_ptr<BIO, openssl_delete<BIO_free>>;
using x509_ptr = std::unique_ptr<X509, openssl_delete<X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, openssl_delete<EVP_PKEY_free>>;
using infos_ptr = std::unique_ptr<STACK_OF(X509_INFO), openssl_delete<free_all>>;

/// For people: text that was given instead of a file is not repeated.
std::string name_of(const std::string &path, const char *option) {
    return settings::is_pem(path) ? option : path;
}

/// OpenSSL calls this for a password, instead of on the terminal.
struct password_teller {
    const std::string *password;
    bool was_asked = false;

    static int tell(char *out, int room, int, void *self) noexcept {
        auto &teller = *static_cast<password_teller *>(self);
        teller.was_asked = true;
        if (!teller.password || teller.password->empty() ||
            teller.password->size() > static_cast<std::size_t>(room))
            return -1;
        std::memcpy(out, teller.password->data(), teller.password->size());
        return static_cast<int>(teller.password->size());
    }
};

bio_ptr octets_of(const std::string &text) {
    bio_ptr made(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    if (!made)
        throw std::bad_alloc();
    return made;
}

bool is_at_end_of_pem() noexcept {
    const unsigned long noted = ERR_peek_last_error();
    return ERR_GET_LIB(noted) == ERR_LIB_PEM && ERR_GET_REASON(noted) == PEM_R_NO_START_LINE;
}

}  // namespace

// ---- change ----

file_stamp tls_files::look_at(const std::string &path) noexcept {
    struct stat facts;
    return ::stat(path.c_str(), &facts) == 0 ? file_stamp::of(facts) : file_stamp{};
}

bool tls_files::has_changed(const watched &which) const noexcept {
    if (!kept_)
        return !(look_at(which.path) == which.was);
    const std::shared_ptr<const secret> now = kept_->find(which.path);
    return now.owner_before(which.kept) || which.kept.owner_before(now);
}

bool tls_files::have_changed() const noexcept {
    return watched_ && std::any_of(watched_->begin(), watched_->end(),
                                   [this](const watched &each) { return has_changed(each); });
}

void tls_files::watch_system() {
    const auto watch_file = [this](const std::string &path) { watch({path, look_at(path), {}}); };
    watch_file(from_environment(X509_get_default_cert_file_env(), X509_get_default_cert_file()));
    const std::string directories =
        from_environment(X509_get_default_cert_dir_env(), X509_get_default_cert_dir());
    for (std::size_t from = 0, to; from < directories.size(); from = to + 1) {
        to = std::min(directories.find(':', from), directories.size());
        if (to > from)
            watch_file(directories.substr(from, to - from));
    }
}

void tls_files::watch_too(const tls_files &others) {
    if (!watched_)
        watched_ = std::make_shared<std::vector<watched>>();
    watched_->insert(watched_->end(), others.watched_->begin(), others.watched_->end());
}

// ---- reading ----

error tls_files::read(const std::string &path, std::string &out) {
    if (settings::is_pem(path)) {
        out = path;
        return error::none;
    }
    if (kept_)
        return read_kept(path, out);
    const error e = read_file(path, out);
    if (tls_section::is_over()) {
        reason::leave(words_of_over);
        return error::terminated;
    }
    return e;
}

error tls_files::read_kept(const std::string &path, std::string &out) {
    const std::shared_ptr<const secret> kept = kept_->find(path);
    watch({path, {}, kept});
    if (!kept) {
        reason::leave("nobody has read " + path);
        return error::invalid;
    }
    out = *kept;
    return error::none;
}

error tls_files::read_file(const std::string &path, std::string &out) {
    const tls_pause meanwhile;
    watch({path, look_at(path), {}});
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int failure = descriptor < 0 ? errno : 0;
    const finally close_it([&] {
        if (descriptor >= 0)
            ::close(descriptor);
    });
    // It is read again by the I/O thread: what gives its octets once, or when somebody likes, is no
    // good.
    struct stat facts;
    if (failure == 0 && ::fstat(descriptor, &facts) == 0 && !S_ISREG(facts.st_mode) &&
        !S_ISDIR(facts.st_mode)) {
        reason::leave("cannot read " + path + ": it is not a regular file");
        return error::invalid;
    }
    std::size_t have = 0;
    while (failure == 0) {
        if (out.size() - have < 4096) {
            // Growing must not leave a copy of a key behind.
            std::string larger(2 * out.size() + 8192, '\0');
            std::memcpy(larger.data(), out.data(), have);
            OPENSSL_cleanse(out.data(), out.size());
            out.swap(larger);
        }
        const ssize_t count = ::read(descriptor, out.data() + have, out.size() - have);
        if (count == 0)
            break;
        if (count > 0)
            have += static_cast<std::size_t>(count);
        else if (errno != EINTR)
            failure = errno;
        if (have > most_octets_in_file)
            failure = EFBIG;
    }
    out.resize(have);
    if (failure == 0)
        return error::none;
    reason::leave("cannot read " + path + ": " + describe(failure));
    const bool is_for_want = failure == EMFILE || failure == ENFILE || failure == ENOMEM;
    return is_for_want ? from_errno(failure) : error::invalid;
}

// ---- certificate and key ----

namespace {

error use_chain(SSL_CTX *into, const std::string &path, BIO *in, x509_ptr &first) {
    password_teller nobody{nullptr};
    first.reset(PEM_read_bio_X509_AUX(in, nullptr, password_teller::tell, &nobody));
    if (!first)
        return refuse(path +
                      (is_at_end_of_pem() ? " holds no certificate in PEM" : " holds a damaged certificate"));
    const auto use = [&](bool is_used, X509 *certificate) {
        return is_used ? error::none
                       : refuse("the certificate " + subject_of(certificate) + " in " + path +
                                " cannot be used: " + words_of_openssl(ERR_peek_last_error()));
    };
    if (const error e = use(SSL_CTX_use_certificate(into, first.get()) == 1, first.get()); failed(e))
        return e;
    for (;;) {
        x509_ptr next(PEM_read_bio_X509(in, nullptr, password_teller::tell, &nobody));
        if (!next)
            return is_at_end_of_pem() ? error::none : refuse(path + " holds a damaged certificate");
        if (const error e = use(SSL_CTX_add1_chain_cert(into, next.get()) == 1, next.get()); failed(e))
            return e;
    }
}

error use_key(SSL_CTX *into, const std::string &path, BIO *in, const std::string &password,
              X509 *certificate) {
    password_teller teller{&password};
    const key_ptr key(read_private_key(in, password_teller::tell, &teller));
    if (!key)
        return refuse(teller.was_asked ? path + " is locked, and ZMQ_TLS_PASSWORD does not open it"
                                       : path + " holds no private key in PEM");
    if (X509_check_private_key(certificate, key.get()) != 1)
        return refuse("the key in " + path + " does not match the certificate " + subject_of(certificate));
    if (SSL_CTX_use_PrivateKey(into, key.get()) != 1)
        return refuse("the key in " + path + " cannot be used: " + words_of_openssl(ERR_peek_last_error()));
    return error::none;
}

}  // namespace

error tls_files::load_own(SSL_CTX *into, const std::string &cert, const std::string &key,
                          const std::string &password) {
    if (cert.empty())
        return refuse("ZMQ_TLS_KEY is set, and ZMQ_TLS_CERT is not");
    std::string text;
    const finally wipe([&] { OPENSSL_cleanse(text.data(), text.size()); });
    if (const error e = read(cert, text); failed(e))
        return e;
    x509_ptr certificate;
    if (const error e =
            use_chain(into, name_of(cert, "ZMQ_WSS_CERT_PEM"), octets_of(text).get(), certificate);
        failed(e))
        return e;
    if (key.empty())
        return refuse("ZMQ_TLS_CERT is set, and ZMQ_TLS_KEY is not");
    OPENSSL_cleanse(text.data(), text.size());  // where the key stands in the same file
    text.clear();
    if (const error e = read(key, text); failed(e))
        return e;
    return use_key(into, name_of(key, "ZMQ_WSS_KEY_PEM"), octets_of(text).get(), password, certificate.get());
}

// ---- authorities ----

error tls_files::load_authorities(SSL_CTX *into, const std::string &given) {
    const std::string path = name_of(given, "ZMQ_WSS_TRUST_PEM");
    std::string text;
    const finally wipe([&] { OPENSSL_cleanse(text.data(), text.size()); });
    if (const error e = read(given, text); failed(e))
        return e;
    password_teller nobody{nullptr};
    const infos_ptr found(
        PEM_X509_INFO_read_bio(octets_of(text).get(), nullptr, password_teller::tell, &nobody));
    if (!found)
        return refuse(path + " holds a damaged certificate: " + words_of_openssl(ERR_peek_last_error()));
    X509_STORE *const store = SSL_CTX_get_cert_store(into);
    bool has_any = false, has_lists = false;
    for (int i = 0; i < sk_X509_INFO_num(found.get()); ++i) {
        const X509_INFO *const each = sk_X509_INFO_value(found.get(), i);
        if (each->x509 && X509_STORE_add_cert(store, each->x509) != 1)
            return refuse(path + ": " + words_of_openssl(ERR_peek_last_error()));
        if (each->crl && X509_STORE_add_crl(store, each->crl) != 1)
            return refuse(path + ": " + words_of_openssl(ERR_peek_last_error()));
        if (const ASN1_TIME *const end = each->crl ? X509_CRL_get0_nextUpdate(each->crl) : nullptr)
            lists_end_ = std::min(lists_end_, seconds_of(end));
        has_any = has_any || each->x509;
        has_lists = has_lists || each->crl;
    }
    if (has_lists)
        X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
    return has_any ? error::none : refuse(path + " holds no certificate in PEM");
}

}  // namespace zlink
