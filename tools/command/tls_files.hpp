// Certificates for tls:// that are enough to begin with.

#pragma once

#include <string>
#include <vector>

namespace command {

/// Makes DIRECTORY/ca.pem and ca.key, a self-signed authority, unless they are there, and
/// NAME.pem and NAME.key for each name (there is one), which both servers and clients may use.
/// Throws `failure`.
void make_tls_files(const std::string &directory, const std::vector<std::string> &names, int days,
                    bool replaces);

}  // namespace command
