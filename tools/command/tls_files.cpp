#include "tls_files.hpp"

#include "certificate_file.hpp"
#include "failure.hpp"

#ifdef ZLINK_COMMAND_WITH_TLS

#include <arpa/inet.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>

namespace command {

namespace {

template <auto Free>
struct freed_by {
    template <typename T>
    void operator()(T *object) const {
        Free(object);
    }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;

void require(bool good) {
    if (!good) {
        throw failure(status::other, "OpenSSL cannot make the certificate");
    }
}

void add_extension(X509 &certificate, X509 &issuer, int number, const std::string &value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, number, value.c_str()));
    require(extension && X509_add_ext(&certificate, extension.get(), -1) == 1);
}

struct identity {
    key_ptr key;
    certificate_ptr certificate;
};

/// The name that tells an authority from others in messages: whom it was made for, and when. It may
/// have 64 characters.
std::string name_of_authority(const std::string &first) {
    return fmt::format("authority of {:.25} made {:%Y-%m-%dT%H:%M:%SZ}", first,
                       fmt::gmtime(std::time(nullptr)));
}

identity make(const std::string &name, const identity *authority, const std::string &names, int days) {
    identity made{key_ptr(EVP_EC_gen("P-256")), certificate_ptr(X509_new())};
    require(made.key && made.certificate);
    X509 &certificate = *made.certificate;
    std::array<unsigned char, 16> serial{};
    require(RAND_bytes(serial.data(), serial.size()) == 1);
    serial[0] &= 0x7fU;
    const std::unique_ptr<BIGNUM, freed_by<BN_free>> number(BN_bin2bn(serial.data(), serial.size(), nullptr));
    require(number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)));
    X509_set_version(&certificate, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(&certificate), -3600);  // clocks differ
    X509_time_adj_ex(X509_getm_notAfter(&certificate), days, 0, nullptr);
    X509_set_pubkey(&certificate, made.key.get());
    X509_NAME *subject = X509_get_subject_name(&certificate);
    require(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char *>(name.c_str()), -1, -1,
                                       0) == 1);
    X509 &issuer = authority ? *authority->certificate : certificate;
    X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer));
    add_extension(certificate, issuer, NID_basic_constraints,
                  authority ? "critical,CA:FALSE" : "critical,CA:TRUE");
    add_extension(certificate, issuer, NID_key_usage,
                  authority ? "critical,digitalSignature" : "critical,keyCertSign,cRLSign");
    add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
    if (authority) {
        add_extension(certificate, issuer, NID_authority_key_identifier, "keyid");
        add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth");
        add_extension(certificate, issuer, NID_subject_alt_name, names);
    }
    require(X509_sign(&certificate, authority ? authority->key.get() : made.key.get(), EVP_sha256()) > 0);
    return made;
}

std::string text_of(BIO &memory) {
    char *data = nullptr;
    const long size = BIO_get_mem_data(&memory, &data);
    return {data, static_cast<size_t>(size)};
}

void write_files(const identity &made, const std::string &stem, bool replaces) {
    const bio_ptr key(BIO_new(BIO_s_mem())), certificate(BIO_new(BIO_s_mem()));
    require(key && certificate &&
            PEM_write_bio_PrivateKey(key.get(), made.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1 &&
            PEM_write_bio_X509(certificate.get(), made.certificate.get()) == 1);
    write_new_file(stem + ".key", text_of(*key), false, replaces);
    write_new_file(stem + ".pem", text_of(*certificate), true, replaces);
}

bio_ptr pem_file(const std::string &path) {
    bio_ptr file(BIO_new_file(path.c_str(), "r"));
    if (!file) {
        throw failure(status::other, fmt::format("{}: {}", path, std::strerror(errno)));
    }
    return file;
}

identity read_authority(const std::string &stem) {
    char no_password[] = "";  // instead of asking for one at the terminal
    const bio_ptr key = pem_file(stem + ".key"), certificate = pem_file(stem + ".pem");
    identity read{key_ptr(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, no_password)),
                  certificate_ptr(PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr))};
    if (!read.key || !read.certificate ||
        X509_check_private_key(read.certificate.get(), read.key.get()) != 1) {
        throw failure(status::other, fmt::format("{0}.pem and {0}.key are no authority", stem));
    }
    if (X509_cmp_current_time(X509_get0_notAfter(read.certificate.get())) <= 0) {
        throw failure(status::other, fmt::format("{}.pem has expired: another folder gets a new one", stem));
    }
    return read;
}

bool is_there(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

/// The authority that is there, which is never replaced: it can vouch for more names later. Else a
/// new one.
identity authority_in(const std::string &stem, const std::string &first, int days) {
    if (is_there(stem + ".pem") || is_there(stem + ".key")) {
        return read_authority(stem);
    }
    identity made = make(name_of_authority(first), nullptr, "", days);
    write_files(made, stem, false);
    return made;
}

std::string alternative_names(const std::string &name) {
    std::array<unsigned char, 16> address{};
    const bool is_address = inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
                            inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
    if (name == "localhost") {
        return "DNS:localhost,IP:127.0.0.1,IP:::1";
    }
    return (is_address ? "IP:" : "DNS:") + name;
}

}  // namespace

void make_tls_files(const std::string &directory, const std::vector<std::string> &names, int days,
                    bool replaces) {
    for (const std::string &name : names) {
        if (name.empty() || name == "ca" || name.find_first_of(",/:\"\\ ") != std::string::npos) {
            throw failure(status::usage, fmt::format("{} is no name of a host", name));
        }
    }
    const identity authority = authority_in(directory + "/ca", names.front(), days);
    for (const std::string &name : names) {
        write_files(make(name, &authority, alternative_names(name), days), directory + "/" + name, replaces);
    }
}

}  // namespace command

#else

namespace command {

void make_tls_files(const std::string &, const std::vector<std::string> &, int, bool) {
    throw failure(status::other, "this zlink was built without TLS");
}

}  // namespace command

#endif
