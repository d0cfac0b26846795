// Private keys from PEM: those that are taken apart are the keys that OpenSSL's decoder makes, and
// all others are left to that.
#include "transport/tls_key.hpp"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string>
#include <string_view>

#include "support/effort.hpp"

namespace zlink {
namespace {

constexpr char password[] = "a password";

struct closer {
    void operator()(EVP_PKEY *key) const noexcept { EVP_PKEY_free(key); }
    void operator()(BIO *bio) const noexcept { BIO_free(bio); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, closer>;
using bio_ptr = std::unique_ptr<BIO, closer>;

int tell(char *out, int, int, void *text) noexcept {
    const auto *const given = static_cast<const char *>(text);
    std::memcpy(out, given, std::strlen(given));
    return static_cast<int>(std::strlen(given));
}
key_ptr read(const std::string &pem, const char *with = password) {
    const bio_ptr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return key_ptr(read_private_key(in.get(), tell, const_cast<char *>(with)));
}
key_ptr decode(const std::string &pem) {
    const bio_ptr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    return key_ptr(PEM_read_bio_PrivateKey(in.get(), nullptr, tell, const_cast<char *>(password)));
}

using writer = std::function<int(BIO *, EVP_PKEY *)>;
std::string written(EVP_PKEY *key, const writer &write) {
    const bio_ptr out(BIO_new(BIO_s_mem()));
    EXPECT_EQ(write(out.get(), key), 1);
    char *octets = nullptr;
    const long size = BIO_get_mem_data(out.get(), &octets);
    return {octets, static_cast<std::size_t>(size)};
}

struct form {
    const char *name;
    writer write;
};
const form forms[] = {
    {"PKCS8",
     [](BIO *out, EVP_PKEY *key) {
         return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
     }},
    {"locked PKCS8",
     [](BIO *out, EVP_PKEY *key) {
         return PEM_write_bio_PKCS8PrivateKey(out, key, EVP_aes_256_cbc(), password, sizeof password - 1,
                                              nullptr, nullptr);
     }},
    {"older",
     [](BIO *out, EVP_PKEY *key) {
         return PEM_write_bio_PrivateKey_traditional(out, key, nullptr, nullptr, 0, nullptr, nullptr);
     }},
    {"older, locked",
     [](BIO *out, EVP_PKEY *key) {
         return PEM_write_bio_PrivateKey_traditional(out, key, EVP_aes_128_cbc(), nullptr, 0, nullptr,
                                                     const_cast<char *>(password));
     }},
};

key_ptr ec_with(const char *curve, const char *parameter = nullptr, const char *value = nullptr) {
    key_ptr key(EVP_EC_gen(curve));
    if (parameter) {
        EXPECT_EQ(EVP_PKEY_set_utf8_string_param(key.get(), parameter, value), 1);
    }
    return key;
}
key_ptr rsa_of_three_primes() {
    EVP_PKEY_CTX *const maker = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
    EVP_PKEY *key = nullptr;
    EVP_PKEY_keygen_init(maker);
    EVP_PKEY_CTX_set_rsa_keygen_bits(maker, 2048);
    EVP_PKEY_CTX_set_rsa_keygen_primes(maker, 3);
    EVP_PKEY_generate(maker, &key);
    EVP_PKEY_CTX_free(maker);
    return key_ptr(key);
}

struct kind {
    const char *name;
    key_ptr key;
    bool has_older_form = true;
};

TEST(tls_key, is_the_one_that_openssl_reads) {
    kind kinds[] = {
        {"RSA", key_ptr(EVP_RSA_gen(2048))},
        {"P-256", ec_with("P-256")},
        {"P-384", ec_with("P-384")},
        {"P-521", ec_with("P-521")},
        {"Ed25519", key_ptr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), false},
        {"Ed448", key_ptr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED448")), false},
        // For the decoder.
        {"secp256k1", ec_with("secp256k1")},
        {"explicit parameters", ec_with("P-256", OSSL_PKEY_PARAM_EC_ENCODING, "explicit")},
        {"RSA of three primes", rsa_of_three_primes()},
        {"X25519", key_ptr(EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")), false},
    };
    for (const kind &each : kinds) {
        for (const form &as : forms) {
            if (!each.has_older_form && std::string_view(as.name).starts_with("older"))
                continue;
            ASSERT_NE(each.key, nullptr) << each.name;
            const std::string pem = written(each.key.get(), as.write);
            const key_ptr found = read(pem);
            ASSERT_NE(found, nullptr) << each.name << ", " << as.name;
            EXPECT_EQ(EVP_PKEY_eq(found.get(), each.key.get()), 1) << each.name << ", " << as.name;
            EXPECT_EQ(written(found.get(), forms[0].write), written(each.key.get(), forms[0].write))
                << each.name << ", " << as.name;
            EXPECT_EQ(EVP_PKEY_get0_type_name(found.get()),
                      std::string(EVP_PKEY_get0_type_name(decode(pem).get())));
            const bool is_locked = std::string_view(as.name).find("locked") != std::string_view::npos;
            EXPECT_EQ(read(pem, "another") == nullptr, is_locked) << each.name << ", " << as.name;
        }
    }
}

TEST(tls_key, is_the_first_behind_what_is_none) {
    const key_ptr first = ec_with("P-256"), second = ec_with("P-256");
    const std::string both = "of nobody\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" +
                             written(first.get(), forms[2].write) + written(second.get(), forms[0].write);
    const key_ptr found = read(both);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(EVP_PKEY_eq(found.get(), first.get()), 1);
    EXPECT_EQ(read(""), nullptr);
    EXPECT_EQ(read("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), nullptr);
}

struct pem_block {
    std::string label, der;
};
pem_block block_in(const std::string &pem) {
    const bio_ptr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    char *name = nullptr, *header = nullptr;
    unsigned char *octets = nullptr;
    long size = 0;
    EXPECT_EQ(PEM_read_bio(in.get(), &name, &header, &octets, &size), 1);
    const pem_block found{name, {reinterpret_cast<char *>(octets), static_cast<std::size_t>(size)}};
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(octets);
    return found;
}
void expect_what_openssl_makes_of(const pem_block &what, const std::string &where) {
    const std::string text = written(nullptr, [&](BIO *out, EVP_PKEY *) {
        return PEM_write_bio(out, what.label.c_str(), "",
                             reinterpret_cast<const unsigned char *>(what.der.data()),
                             static_cast<long>(what.der.size())) > 0;
    });
    const key_ptr found = read(text), expected = decode(text);
    EXPECT_EQ(found == nullptr, expected == nullptr) << where;
    if (found && expected) {
        EXPECT_EQ(EVP_PKEY_eq(found.get(), expected.get()), 1) << where;
    }
}

// Each octet of the DER another, among them tags that say that what is made of octets is made of
// pieces, and each end: what the decoder refuses is no key. There is one thread only.
TEST(tls_key, of_damaged_octets_is_none_or_what_openssl_makes_of_them) {
    kind kinds[] = {
        {"RSA", key_ptr(EVP_RSA_gen(1024))},
        {"P-256", ec_with("P-256")},
        {"Ed25519", key_ptr(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")), false},
    };
    for (const kind &each : kinds) {
        for (const form &as : {forms[0], forms[2]}) {
            if (!each.has_older_form && std::string_view(as.name) == "older")
                continue;
            const pem_block good = block_in(written(each.key.get(), as.write));
            for (std::size_t i = 0; i < good.der.size(); i += zlink_test::effort(1, 13)) {
                const std::string where = std::string(each.name) + ", " + as.name + ", " + std::to_string(i);
                for (const char change : {0x41, 0x40, 0x20}) {
                    pem_block damaged = good;
                    damaged.der[i] ^= change;
                    expect_what_openssl_makes_of(damaged, where);
                }
                expect_what_openssl_makes_of({good.label, good.der.substr(0, i + 1)}, where);
            }
        }
    }
    ERR_clear_error();
}

// This is as PKCS#8: what names the kind of a key, with something else behind it than OpenSSL
// takes.
TEST(tls_key, with_parameters_of_another_kind_is_none_or_what_openssl_makes_of_it) {
    const auto piece = [](char tag, const std::string &content) {
        return std::string{tag, static_cast<char>(content.size())} + content;
    };
    const std::string p256("\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07", 10);
    const std::string secp256k1("\x06\x05\x2b\x81\x04\x00\x0a", 7);
    const std::string ed25519("\x06\x03\x2b\x65\x70", 5);
    const std::string ec("\x06\x07\x2a\x86\x48\xce\x3d\x02\x01", 9);
    const std::string nothing("\x05\x00", 2);
    const std::string older = block_in(written(ec_with("P-256").get(), forms[2].write)).der;
    const std::string secret = piece(4, std::string(32, 'k'));
    for (const std::string &parameters : {std::string(), nothing, p256, secp256k1}) {
        for (const bool is_ec : {false, true}) {
            const std::string named = piece(0x30, (is_ec ? ec : ed25519) + parameters);
            const std::string version("\x02\x01\x00", 3);
            expect_what_openssl_makes_of(
                {PEM_STRING_PKCS8INF, piece(0x30, version + named + piece(4, is_ec ? older : secret))},
                (is_ec ? "EC, " : "Ed25519, ") + std::to_string(parameters.size()));
        }
    }
    ERR_clear_error();
}

}  // namespace
}  // namespace zlink
