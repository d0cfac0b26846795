// Certificates for tests, made when they are needed: authorities, and those that they sign. Files
// live in a directory that goes with the process.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace zlink_test {

template <auto free_it>
struct openssl_delete {
    template <class T>
    void operator()(T *object) const {
        free_it(object);
    }
};
using key_ptr = std::unique_ptr<EVP_PKEY, openssl_delete<EVP_PKEY_free>>;
using x509_ptr = std::unique_ptr<X509, openssl_delete<X509_free>>;

// The place of all files of this process.
inline const std::filesystem::path &certificate_directory() {
    struct directory {
        directory() {
            std::string name = (std::filesystem::temp_directory_path() / "zlink-tls-XXXXXX").string();
            path = ::mkdtemp(name.data());
        }
        ~directory() {
            if (::getpid() == owner)
                std::filesystem::remove_all(path);
        }
        const pid_t owner = ::getpid();
        std::filesystem::path path;
    };
    static const directory here;
    return here.path;
}

inline std::string file_with(const std::string &name, const std::string &text) {
    const std::string path = certificate_directory() / name;
    std::FILE *file = std::fopen(path.c_str(), "w");
    EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), file), text.size());
    std::fclose(file);
    return path;
}

inline key_ptr strong_key() { return key_ptr(EVP_EC_gen("P-256")); }
inline key_ptr rsa_key(unsigned bits) { return key_ptr(EVP_RSA_gen(bits)); }

inline constexpr long day = 24 * 60 * 60;

// Holds what a certificate says.
struct statement {
    std::string name = "zlink test server";
    std::string alternatives = "DNS:localhost,IP:127.0.0.1,IP:::1";
    std::string usage = "serverAuth,clientAuth";
    bool is_authority = false;
    long valid_from = -day;  // seconds from now
    long valid_to = day;
    const EVP_MD *(*digest)() = EVP_sha256;
};

// A certificate with its key, and what signed it.
class identity {
public:
    // `signer` null: by its own key.
    explicit identity(const statement &says, const identity *signer = nullptr, key_ptr key = strong_key())
        : key_(std::move(key)), certificate_(X509_new()) {
        static long serial = 0;
        X509 *const x = certificate_.get();
        X509_set_version(x, X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
        X509_gmtime_adj(X509_getm_notBefore(x), says.valid_from);
        X509_gmtime_adj(X509_getm_notAfter(x), says.valid_to);
        X509_set_pubkey(x, key_.get());
        X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char *>(says.name.c_str()), -1, -1, 0);
        X509 *const by = signer ? signer->certificate_.get() : x;
        X509_set_issuer_name(x, X509_get_subject_name(by));
        extend(by, NID_basic_constraints, says.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
        extend(by, NID_subject_key_identifier, "hash");
        if (says.is_authority) {
            extend(by, NID_key_usage, "critical,keyCertSign,cRLSign");
        } else {
            extend(by, NID_ext_key_usage, says.usage);
            if (!says.alternatives.empty())
                extend(by, NID_subject_alt_name, says.alternatives);
        }
        EXPECT_GT(X509_sign(x, signer ? signer->key_.get() : key_.get(), says.digest()), 0);
    }

    EVP_PKEY *key() const { return key_.get(); }
    X509 *certificate() const { return certificate_.get(); }

    std::string certificate_pem() const {
        return text_of([&](BIO *out) { PEM_write_bio_X509(out, certificate_.get()); });
    }
    std::string key_pem(const char *password = nullptr) const {
        return text_of([&](BIO *out) {
            PEM_write_bio_PKCS8PrivateKey(out, key_.get(), password ? EVP_aes_256_cbc() : nullptr, password,
                                          password ? static_cast<int>(std::string(password).size()) : 0,
                                          nullptr, nullptr);
        });
    }

    // Which certificates of this authority count no more.
    std::string revocation_list(std::initializer_list<const identity *> revoked, long valid_to = day) const {
        const std::unique_ptr<X509_CRL, openssl_delete<X509_CRL_free>> list(X509_CRL_new());
        const std::unique_ptr<ASN1_TIME, openssl_delete<ASN1_TIME_free>> from(
            X509_gmtime_adj(nullptr, valid_to - 2 * day)),
            to(X509_gmtime_adj(nullptr, valid_to));
        X509_CRL_set_version(list.get(), 1);
        X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
        X509_CRL_set1_lastUpdate(list.get(), from.get());
        X509_CRL_set1_nextUpdate(list.get(), to.get());
        for (const identity *each : revoked) {
            X509_REVOKED *const entry = X509_REVOKED_new();
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(each->certificate()));
            X509_REVOKED_set_revocationDate(entry, from.get());
            X509_CRL_add0_revoked(list.get(), entry);
        }
        EXPECT_GT(X509_CRL_sign(list.get(), key_.get(), EVP_sha256()), 0);
        return text_of([&](BIO *out) { PEM_write_bio_X509_CRL(out, list.get()); });
    }

private:
    void extend(X509 *by, int what, const std::string &value) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, by, certificate_.get(), nullptr, nullptr, 0);
        X509_EXTENSION *const made = X509V3_EXT_nconf_nid(nullptr, &context, what, value.c_str());
        ASSERT_NE(made, nullptr) << value;
        X509_add_ext(certificate_.get(), made, -1);
        X509_EXTENSION_free(made);
    }
    template <class Write>
    static std::string text_of(Write &&write) {
        BIO *const out = BIO_new(BIO_s_mem());
        write(out);
        char *octets = nullptr;
        const long size = BIO_get_mem_data(out, &octets);
        std::string text(octets, static_cast<std::size_t>(size));
        BIO_free(out);
        return text;
    }

    key_ptr key_;
    x509_ptr certificate_;
};

// An authority, and one good certificate for this host, as files.
struct good_files {
    good_files()
        : authority({.name = "zlink test authority", .is_authority = true}), server({}, &authority),
          ca(file_with("ca.pem", authority.certificate_pem())),
          cert(file_with("server.pem", server.certificate_pem())),
          key(file_with("server.key", server.key_pem())) {}

    identity authority;
    identity server;
    std::string ca, cert, key;
};

inline const good_files &good() {
    static const good_files files;
    return files;
}

}  // namespace zlink_test
