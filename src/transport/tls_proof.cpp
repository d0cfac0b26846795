// A certificate in words that cannot mean something else; see tls_proof.hpp. Map: addresses; names;
// the fingerprint; all.
#include "transport/tls_proof.hpp"

#include <arpa/inet.h>
#include <memory>
#include <new>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "transport/tls_section.hpp"
#include "transport/tls_words.hpp"

namespace zlink {

namespace {

using names_ptr = std::unique_ptr<GENERAL_NAMES, openssl_delete<GENERAL_NAMES_free>>;

std::string_view octets_of(const ASN1_STRING *text) noexcept {
    return {reinterpret_cast<const char *>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

/// Empty where it is none.
std::string address_in(std::string_view octets) {
    char text[INET6_ADDRSTRLEN];
    const int family = octets.size() == 4 ? AF_INET : octets.size() == 16 ? AF_INET6 : AF_UNSPEC;
    return ::inet_ntop(family, octets.data(), text, sizeof text) ? text : "";
}

/// Null when all was well.
const char *add_names(X509 *certificate, std::vector<std::string> &items) {
    int state = 0;
    const names_ptr names(
        static_cast<GENERAL_NAMES *>(X509_get_ext_d2i(certificate, NID_subject_alt_name, &state, nullptr)));
    if (!names && state != -1)
        return "its names cannot be read";
    for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
        const GENERAL_NAME *const name = sk_GENERAL_NAME_value(names.get(), i);
        if (name->type == GEN_IPADD) {
            const std::string address = address_in(octets_of(name->d.iPAddress));
            if (address.empty())
                return "one of its addresses is none";
            items.push_back("IP:" + address);
        } else if (name->type == GEN_DNS || name->type == GEN_URI) {
            const std::string_view text = octets_of(name->d.ia5);
            if (text.find('\0') != std::string_view::npos)
                return "there is a NUL in one of its names";
            items.push_back(std::string(name->type == GEN_DNS ? "DNS:" : "URI:").append(text));
        }
    }
    return nullptr;
}

}  // namespace

std::string fingerprint_of(const X509 *certificate) {
    std::string digest(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    const bool is_there =
        X509_digest(certificate, EVP_sha256(), reinterpret_cast<unsigned char *>(digest.data()), &size) == 1;
    digest.resize(is_there ? size : 0);
    return digest;
}

error prove(X509 *certificate, std::vector<std::string> &items, const char *&why) noexcept {
    try {
        std::string digest = fingerprint_of(certificate);
        if (digest.empty())
            return error::no_memory;
        std::string subject = whole_subject_of(certificate);
        if (subject.empty() && X509_NAME_entry_count(X509_get_subject_name(certificate)) > 0) {
            why = "its subject cannot be shown";
            return error::invalid;
        }
        items = {std::move(digest), std::move(subject)};
        why = add_names(certificate, items);
        return why ? error::invalid : error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

}  // namespace zlink
