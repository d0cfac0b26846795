// A policy as it stands on the disk: its file, and what it names.
//
// Read:     whole or not at all. Files for TLS are kept as they were judged, by path, and read
//           again when they have changed: nobody else has to open them. Of the certificates of
//           CURVE, those of a folder, too, the keys are kept: each takes pages of its own.
// Limits:   those of trusted_file.hpp.
#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <string>

#include "core/secret.hpp"
#include "policy/curve_certificate.hpp"
#include "policy/rules.hpp"
#include "policy/trusted_file.hpp"

namespace zlink {

struct policy_reading {
    struct kept_file {
        file_stamp stamp;
        std::shared_ptr<const secret> octets;
    };
    using files = std::map<std::string, kept_file>;
    struct known_keys {
        file_stamp stamp;
        curve_certificate keys;
    };
    using certificates = std::map<std::string, known_keys>;

    std::shared_ptr<const policy_rules> rules;  // null: `why` says what is wrong
    std::shared_ptr<const files> kept;          // where something is wrong, those of before
    std::shared_ptr<const certificates> known;  // the same
    std::string why;
};

/// Waits for the disk. Rules that say the same as `before`, and files that have not changed, are
/// those of `before`. `seconds`: the time since 1970, by which a file that was changed just now is
/// read again. Throws std::bad_alloc.
policy_reading read_policy_now(const std::string &path, const policy_reading &before, std::time_t seconds);

}  // namespace zlink
