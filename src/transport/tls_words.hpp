// Failures of TLS, in words for a person.
//
// Words:    what comes from a peer's certificate is printable ASCII, and no more than a few hundred
//           octets of it. Nothing of a key or a password is in them.
// Errors:   functions throw std::bad_alloc.
#pragma once

#include <ctime>
#include <openssl/ssl.h>
#include <string>

#include "core/error.hpp"
#include "core/stranger.hpp"

namespace zlink {

/// Words for what cannot be done any more.
inline constexpr char words_of_over[] = "OpenSSL has been taken down";
/// Why OpenSSL does not accept the certificate that it looks at. `asked_for`: the name that it
/// should have been for.
std::string words_of_certificate(X509_STORE_CTX *looking, const std::string &asked_for);
/// Empty while it is valid.
std::string words_of_validity(X509 *certificate, std::time_t now);
/// Why TLS ended: `noted` is what OpenSSL noted last, `why` what became of that, `protocol` what
/// the peer's first octets are.
std::string words_of_end(unsigned long noted, error why, bool is_in_handshake, spoken protocol);
/// OpenSSL's own words: "wrong version number".
std::string words_of_openssl(unsigned long noted);
/// Leaves words (core/reason.hpp). Returns no_memory where OpenSSL has noted that last, and else
/// invalid.
error refuse(std::string words);
/// Which certificate it is.
std::string subject_of(X509 *certificate);
/// The text as the application gets it, whatever stands in it. Empty where it cannot be shown as a
/// whole: part of it is another's name.
std::string whole_subject_of(X509 *certificate);

/// Why a certificate is not accepted, by OpenSSL's number.
error reason_of_certificate(long result) noexcept;
/// The peer's complaints about our certificate, and the rest of what it may say.
error reason_of_alert(int alert) noexcept;

}  // namespace zlink
