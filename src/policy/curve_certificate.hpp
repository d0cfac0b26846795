// A file with the keys of one party, as CZMQ and pyzmq write it: public, or secret with both keys.
// Pure.
//
// Text:     ZPL (RFC 4) with a section of metadata, of which nothing is taken, and one of keys in
//           Z85:
//               curve
//                   public-key = "..."
//                   secret-key = "..."
#pragma once

#include <string>
#include <string_view>

#include "core/curve_own_key.hpp"

namespace zlink {

struct curve_certificate {
    std::string public_key;  // 32 octets
    curve_own_key secret_key;

    bool operator==(const curve_certificate &) const = default;
};

/// 32 octets out of 40 characters of Z85. False where it is no key.
bool read_curve_key(std::string_view text, std::string &out);

/// False where it cannot be understood, or its keys do not belong together: `why`, with "path:line:
/// " in front. Throws std::bad_alloc.
bool read_curve_certificate(const std::string &text, const std::string &path, curve_certificate &out,
                            std::string &why);

}  // namespace zlink
