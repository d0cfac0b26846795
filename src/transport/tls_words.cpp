// Words for failures of TLS; see tls_words.hpp.
//
// Order:    text of names, times and addresses in certificates; words for alerts, certificates, and
//           what OpenSSL notes; the errors that these stand for.
#include "transport/tls_words.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <utility>

#include "core/reason.hpp"

namespace zlink {

namespace {

constexpr std::size_t most_octets_of_words = 256;  // of what a peer has chosen

struct bio_closer {
    void operator()(BIO *what) const noexcept { BIO_free(what); }
};
struct names_closer {
    void operator()(GENERAL_NAMES *names) const noexcept { GENERAL_NAMES_free(names); }
};

/// Peers choose what stands in their certificates, and somebody's terminal shows it.
std::string printable(std::string_view text) {
    std::string out(text.substr(0, most_octets_of_words));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    if (text.size() > most_octets_of_words)
        out += "...";
    return out;
}

template <class Write>
std::string text_of(Write &&write) {
    const std::unique_ptr<BIO, bio_closer> out(BIO_new(BIO_s_mem()));
    if (!out)
        throw std::bad_alloc();
    write(out.get());
    char *octets = nullptr;
    const long size = BIO_get_mem_data(out.get(), &octets);
    return printable({octets, size > 0 ? static_cast<std::size_t>(size) : 0});
}

std::string name_text(const X509_NAME *name) {
    return text_of([&](BIO *out) { X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253); });
}

std::string time_of(const ASN1_TIME *when) {
    return text_of([&](BIO *out) { ASN1_TIME_print(out, when); });
}

std::string address_of(const ASN1_OCTET_STRING *address) {
    const std::uint8_t *octets = ASN1_STRING_get0_data(address);
    const int size = ASN1_STRING_length(address);
    char text[8];
    std::string out;
    for (int i = 0; i < size && i < 16; ++i) {
        std::snprintf(text, sizeof text,
                      size == 4 ? "%s%d"
                      : i % 2   ? "%.0s%02x"
                                : "%s%02x",
                      i == 0 ? "" : (size == 4 ? "." : ":"), octets[i]);
        out += text;
    }
    return out;
}

/// The names and addresses that it is for.
std::string names_in(X509 *certificate) {
    const std::unique_ptr<GENERAL_NAMES, names_closer> names(
        static_cast<GENERAL_NAMES *>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string out;
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()) && out.size() <= most_octets_of_words; ++i) {
        const GENERAL_NAME *const name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD)
            continue;
        out += out.empty() ? "" : ", ";
        if (name->type == GEN_IPADD)
            out += address_of(name->d.iPAddress);
        else
            out.append(reinterpret_cast<const char *>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    }
    return out.empty() ? "none" : printable(out);
}

bool is_about_certificate(int alert) noexcept {
    return (alert >= SSL3_AD_BAD_CERTIFICATE && alert <= SSL3_AD_CERTIFICATE_UNKNOWN) ||
           alert == TLS1_AD_UNKNOWN_CA || alert == TLS1_AD_ACCESS_DENIED ||
           alert == TLS13_AD_CERTIFICATE_REQUIRED;
}

/// Null where it is TLS, or nobody knows.
const char *words_of_stranger(spoken protocol) noexcept {
    switch (protocol) {
    case spoken::http:
        return "the peer speaks HTTP without TLS; for WebSocket without TLS there is ws://";
    case spoken::zmtp:
        return "the peer speaks ZMTP without TLS; for that there is tcp://";
    case spoken::ssh:
        return "the peer speaks SSH, not TLS";
    default:
        return nullptr;
    }
}

std::string words_of_alert(int alert) {
    if (alert == TLS13_AD_CERTIFICATE_REQUIRED)
        return "the peer requires a certificate: set ZMQ_TLS_CERT and ZMQ_TLS_KEY";
    const std::string what = SSL_alert_desc_string_long(alert);
    return (is_about_certificate(alert) ? "the peer refuses our certificate: " : "the peer has refused: ") +
           what;
}

}  // namespace

std::string subject_of(X509 *certificate) { return name_text(X509_get_subject_name(certificate)); }

std::string whole_subject_of(X509 *certificate) {
    const std::unique_ptr<BIO, bio_closer> out(BIO_new(BIO_s_mem()));
    if (!out)
        throw std::bad_alloc();
    const bool is_whole = X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0,
                                             XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0;
    char *octets = nullptr;
    const long size = is_whole ? BIO_get_mem_data(out.get(), &octets) : 0;
    return std::string(octets, size > 0 ? static_cast<std::size_t>(size) : 0);
}

/// Words for one that has expired, or is not valid yet.
static std::string words_of_time(int result, X509 *certificate) {
    const ASN1_TIME *const limit = result == X509_V_ERR_CERT_HAS_EXPIRED ? X509_get0_notAfter(certificate)
                                                                         : X509_get0_notBefore(certificate);
    return std::string(X509_verify_cert_error_string(result)) + ": " + subject_of(certificate) + ", " +
           time_of(limit);
}

std::string words_of_validity(X509 *certificate, std::time_t now) {
    // 0 where OpenSSL cannot read the time.
    if (X509_cmp_time(X509_get0_notAfter(certificate), &now) < 0)
        return words_of_time(X509_V_ERR_CERT_HAS_EXPIRED, certificate);
    if (X509_cmp_time(X509_get0_notBefore(certificate), &now) > 0)
        return words_of_time(X509_V_ERR_CERT_NOT_YET_VALID, certificate);
    return {};
}

std::string words_of_certificate(X509_STORE_CTX *looking, const std::string &asked_for) {
    X509 *const which = X509_STORE_CTX_get_current_cert(looking);
    const int result = X509_STORE_CTX_get_error(looking);
    const std::string what = X509_verify_cert_error_string(result);
    if (!which)
        return what;
    const std::string subject = subject_of(which);
    switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
        return "host name mismatch: asked for " + printable(asked_for) + ", got " + names_in(which);
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "address mismatch: asked for " + printable(asked_for) + ", got " + names_in(which);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return words_of_time(result, which);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        return what + ": " + subject + ", issued by " + name_text(X509_get_issuer_name(which));
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_HAS_EXPIRED:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
        return what + ": that of " + name_text(X509_get_issuer_name(which));
    default:
        return what + ": " + subject;
    }
}

std::string words_of_openssl(unsigned long noted) {
    const char *const words = ERR_reason_error_string(noted);
    return words ? words : "error " + std::to_string(ERR_GET_REASON(noted));
}

error refuse(std::string words) {
    const bool is_short = ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE;
    reason::leave(std::move(words));
    return is_short ? error::no_memory : error::invalid;
}

std::string words_of_end(unsigned long noted, error why, bool is_in_handshake, spoken protocol) {
    if (const char *const words = is_in_handshake ? words_of_stranger(protocol) : nullptr)
        return words;
    const bool is_of_tls = ERR_GET_LIB(noted) == ERR_LIB_SSL;
    const int number = ERR_GET_REASON(noted);
    if (is_of_tls && number > SSL_AD_REASON_OFFSET)
        return words_of_alert(number - SSL_AD_REASON_OFFSET);
    if (is_of_tls && number == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
        return "the client has shown no certificate";
    if (noted != 0)
        return (is_in_handshake ? "no TLS 1.3 with this peer: " : "TLS has failed: ") +
               words_of_openssl(noted);
    if (!is_in_handshake)
        return to_errno(why) == ECONNABORTED
                   ? "the peer ended the connection without a close_notify: what it sent last may be cut off"
                   : "";
    return why == error::connection_reset
               ? "the peer closed the connection during the TLS handshake"
               : std::string("during the TLS handshake: ") + describe(to_errno(why));
}

error reason_of_certificate(long result) noexcept {
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return from_errno(EKEYEXPIRED);
    case X509_V_ERR_CERT_REVOKED:
        return from_errno(EKEYREVOKED);
    case X509_V_ERR_OUT_OF_MEM:
        return error::no_memory;
    default:
        return from_errno(EKEYREJECTED);
    }
}

error reason_of_alert(int alert) noexcept {
    switch (alert) {
    case SSL3_AD_CERTIFICATE_EXPIRED:
        return from_errno(EKEYEXPIRED);
    case SSL3_AD_CERTIFICATE_REVOKED:
        return from_errno(EKEYREVOKED);
    case TLS13_AD_CERTIFICATE_REQUIRED:
        return from_errno(ENOKEY);
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
    case TLS1_AD_ACCESS_DENIED:
        return from_errno(EKEYREJECTED);
    default:
        return error::protocol;
    }
}

}  // namespace zlink
