// A private key read from PEM, with no copy of it left in memory that has been freed.
//
// Why:      OpenSSL's decoder frees what it has decoded without wiping it. So the kinds that are in
//           use are taken apart here, and OpenSSL is given their numbers: RSA; EC on P-256, P-384
//           and P-521; Ed25519 and Ed448; as PKCS#8, locked or not, and as PEM had them before. All
//           else, and what is damaged, is for the decoder.
// Wiped:    all that is made here.
#pragma once

#include <openssl/pem.h>

namespace zlink {

/// The first key in a BIO of memory, or null. `tell` is asked for a password, with `teller`, where
/// the key is locked, and may be asked twice. Throws std::bad_alloc.
EVP_PKEY *read_private_key(BIO *in, pem_password_cb *tell, void *teller);

}  // namespace zlink
