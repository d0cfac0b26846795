// A private key read from PEM, with no copy left behind. See tls_key.hpp.
//
// Map: elements of DER; RSA; EC; what is behind PKCS#8; PEM.
#include "transport/tls_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <string_view>
#include <vector>

#include "core/bytes.hpp"
#include "core/finally.hpp"
#include "transport/tls_section.hpp"

namespace zlink {

namespace {

using key_maker_ptr = std::unique_ptr<EVP_PKEY_CTX, openssl_delete<EVP_PKEY_CTX_free>>;
using object_ptr = std::unique_ptr<ASN1_OBJECT, openssl_delete<ASN1_OBJECT_free>>;
using locked_ptr = std::unique_ptr<X509_SIG, openssl_delete<X509_SIG_free>>;
// Wipes.
using opened_ptr = std::unique_ptr<PKCS8_PRIV_KEY_INFO, openssl_delete<PKCS8_PRIV_KEY_INFO_free>>;

// ---- elements of DER ----

/// Takes the next element off the front, if it is one of this kind, in the form that DER has for
/// it: of elements, or of octets.
bool take(byte_span &from, int tag, byte_span &content, int kind = V_ASN1_UNIVERSAL) noexcept {
    const bool is_of_elements = tag == V_ASN1_SEQUENCE || kind == V_ASN1_CONTEXT_SPECIFIC;
    const unsigned char *at = from.data();
    long size = 0;
    int found_tag = 0, found_kind = 0;
    const int how =
        from.empty() ? 0x80
                     : ASN1_get_object(&at, &size, &found_tag, &found_kind, static_cast<long>(from.size()));
    // Damaged, or of unknown length.
    if ((how & 0x80) || (how & 1) || found_tag != tag || found_kind != kind)
        return false;
    if (((how & V_ASN1_CONSTRUCTED) != 0) != is_of_elements)
        return false;
    content = {at, static_cast<std::size_t>(size)};
    from = from.subspan(static_cast<std::size_t>(at - from.data()) + content.size());
    return true;
}

bool take_version(byte_span &from, std::uint8_t wanted) noexcept {
    byte_span version;
    return take(from, V_ASN1_INTEGER, version) && version.size() == 1 && version[0] == wanted;
}

/// In the form of OpenSSL's large numbers: in the order of the machine.
class number {
public:
    explicit number(byte_span octets) : octets_(octets.begin(), octets.end()) {
        if constexpr (std::endian::native == std::endian::little)
            std::reverse(octets_.begin(), octets_.end());
    }
    number(number &&) noexcept = default;
    ~number() { OPENSSL_cleanse(octets_.data(), octets_.size()); }
    OSSL_PARAM as(const char *name) noexcept {
        return OSSL_PARAM_construct_BN(name, octets_.data(), octets_.size());
    }

private:
    std::vector<std::uint8_t> octets_;
};

EVP_PKEY *make_key(const char *kind, OSSL_PARAM *from) noexcept {
    const key_maker_ptr maker(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
    EVP_PKEY *made = nullptr;
    if (maker && EVP_PKEY_fromdata_init(maker.get()) == 1)
        (void)EVP_PKEY_fromdata(maker.get(), &made, EVP_PKEY_KEYPAIR, from);
    return made;
}

// ---- RSA ----

/// RFC 8017, A.1.2; of two primes.
EVP_PKEY *rsa_key(byte_span der) {
    static constexpr std::array names{OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,
                                      OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
                                      OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
                                      OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1};
    byte_span fields;
    if (!take(der, V_ASN1_SEQUENCE, fields) || !take_version(fields, 0))
        return nullptr;
    std::vector<number> numbers;
    numbers.reserve(names.size());
    std::array<OSSL_PARAM, names.size() + 1> all;
    for (std::size_t i = 0; i < names.size(); ++i) {
        byte_span octets;
        if (!take(fields, V_ASN1_INTEGER, octets) || octets.empty() || (octets[0] & 0x80))
            return nullptr;
        all[i] = numbers.emplace_back(octets).as(names[i]);
    }
    all.back() = OSSL_PARAM_construct_end();
    return fields.empty() ? make_key("RSA", all.data()) : nullptr;
}

// ---- EC ----

const char *name_of_curve(const ASN1_OBJECT *curve) noexcept {
    switch (const int number = curve ? OBJ_obj2nid(curve) : NID_undef) {
    case NID_X9_62_prime256v1:
    case NID_secp384r1:
    case NID_secp521r1:
        return OBJ_nid2sn(number);
    default:
        return nullptr;
    }
}

/// The only element of `parameters`.
const char *name_of_curve(byte_span parameters) noexcept {
    const unsigned char *at = parameters.data();
    byte_span rest = parameters, number;
    if (!take(rest, V_ASN1_OBJECT, number) || !rest.empty())
        return nullptr;
    const object_ptr named(d2i_ASN1_OBJECT(nullptr, &at, static_cast<long>(parameters.size())));
    return name_of_curve(named.get());
}

/// RFC 5915. The curve may stand outside.
EVP_PKEY *ec_key(byte_span der, const char *curve) {
    byte_span fields, secret, parameters, public_key, point;
    if (!take(der, V_ASN1_SEQUENCE, fields) || !take_version(fields, 1) ||
        !take(fields, V_ASN1_OCTET_STRING, secret) || secret.empty())
        return nullptr;
    if (take(fields, 0, parameters, V_ASN1_CONTEXT_SPECIFIC))
        curve = name_of_curve(parameters);
    if (!curve || !take(fields, 1, public_key, V_ASN1_CONTEXT_SPECIFIC) || !fields.empty())
        return nullptr;
    if (!take(public_key, V_ASN1_BIT_STRING, point) || !public_key.empty() || point.size() < 2 ||
        point[0] != 0)
        return nullptr;
    number reversed(secret);
    OSSL_PARAM all[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, const_cast<char *>(curve), 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY,
                                          const_cast<std::uint8_t *>(point.data() + 1), point.size() - 1),
        reversed.as(OSSL_PKEY_PARAM_PRIV_KEY), OSSL_PARAM_construct_end()};
    return make_key("EC", all);
}

// ---- PKCS#8 ----

EVP_PKEY *key_in(const PKCS8_PRIV_KEY_INFO *opened) {
    const unsigned char *octets = nullptr;
    int size = 0;
    const X509_ALGOR *algorithm = nullptr;
    const ASN1_OBJECT *kind = nullptr;
    if (!opened || PKCS8_pkey_get0(&kind, &octets, &size, &algorithm, opened) != 1)
        return nullptr;
    byte_span der(octets, static_cast<std::size_t>(size)), secret;
    switch (const int number = OBJ_obj2nid(kind)) {
    case NID_rsaEncryption:
        return rsa_key(der);
    case NID_X9_62_id_ecPublicKey: {
        int type = V_ASN1_UNDEF;
        const void *value = nullptr;
        X509_ALGOR_get0(nullptr, &type, &value, algorithm);
        const char *const curve =
            type == V_ASN1_OBJECT ? name_of_curve(static_cast<const ASN1_OBJECT *>(value)) : nullptr;
        return curve ? ec_key(der, curve) : nullptr;
    }
    case NID_ED25519:
    case NID_ED448: {
        int type = V_ASN1_UNDEF;
        X509_ALGOR_get0(nullptr, &type, nullptr, algorithm);
        // RFC 8410, 3: no parameters.
        return type == V_ASN1_UNDEF && take(der, V_ASN1_OCTET_STRING, secret)
                   ? EVP_PKEY_new_raw_private_key(number, nullptr, secret.data(), secret.size())
                   : nullptr;
    }
    default:
        return nullptr;
    }
}

EVP_PKEY *unlocked_key(byte_span der, pem_password_cb *tell, void *teller) {
    const unsigned char *at = der.data();
    const locked_ptr locked(d2i_X509_SIG(nullptr, &at, static_cast<long>(der.size())));
    std::array<char, PEM_BUFSIZE> password;
    const finally wipe([&] { OPENSSL_cleanse(password.data(), password.size()); });
    const int size = locked ? tell(password.data(), static_cast<int>(password.size()), 0, teller) : -1;
    return size < 0 ? nullptr : key_in(opened_ptr(PKCS8_decrypt(locked.get(), password.data(), size)).get());
}

// ---- PEM ----

EVP_PKEY *take_apart(std::string_view kind, byte_span der, pem_password_cb *tell, void *teller) {
    if (kind == PEM_STRING_RSA)
        return rsa_key(der);
    if (kind == PEM_STRING_ECPRIVATEKEY)
        return ec_key(der, nullptr);
    if (kind == PEM_STRING_PKCS8)
        return unlocked_key(der, tell, teller);
    const unsigned char *at = der.data();
    return kind == PEM_STRING_PKCS8INF
               ? key_in(
                     opened_ptr(d2i_PKCS8_PRIV_KEY_INFO(nullptr, &at, static_cast<long>(der.size()))).get())
               : nullptr;
}

}  // namespace

EVP_PKEY *read_private_key(BIO *in, pem_password_cb *tell, void *teller) {
    unsigned char *octets = nullptr;
    long size = 0;
    char *kind = nullptr;
    EVP_PKEY *key = nullptr;
    if (PEM_bytes_read_bio_secmem(&octets, &size, &kind, PEM_STRING_EVP_PKEY, in, tell, teller) == 1) {
        const finally wipe([&] {
            OPENSSL_secure_clear_free(octets, static_cast<std::size_t>(size));
            OPENSSL_secure_free(kind);
        });
        key = take_apart(kind, {octets, static_cast<std::size_t>(size)}, tell, teller);
    }
    if (key)
        return key;
    ERR_clear_error();
    (void)BIO_reset(in);
    return PEM_read_bio_PrivateKey(in, nullptr, tell, teller);
}

}  // namespace zlink
