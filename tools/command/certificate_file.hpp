// Keys of CURVE, and the files that CZMQ and pyzmq keep them in.

#pragma once

#include <map>
#include <string>

namespace command {

struct curve_keys {
    std::string public_key;  // Z85, as all keys here
    std::string secret_key;  // empty where only the public one is known
};

curve_keys new_keys();
std::string public_from(const std::string &secret_key);

curve_keys read_certificate_file(const std::string &path);

/// Z85 itself, or the path of a file with a public key.
std::string public_key_of(const std::string &key_or_path);

/// The text of such a file: with the secret key where `with_secret`.
std::string certificate_text(const curve_keys &keys, const std::map<std::string, std::string> &metadata,
                             bool with_secret);

/// Makes a file that only this user may read (or all, where it is public). It may not be there yet,
/// unless `replaces`.
void write_new_file(const std::string &path, const std::string &text, bool is_public, bool replaces);

}  // namespace command
