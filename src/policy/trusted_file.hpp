// Files that nobody else can change: read only where neither they nor a folder on the way to them
// is open to others.
//
// Way:      from the root, folder by folder, each judged by the descriptor that leads to the next;
//           symbolic links are not followed. What is read is what was judged.
// Trusted:  root and the effective user. A folder that others may write is good enough where it is
//           root's and sticky; and on a mount that is read-only nobody writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_stamp.hpp"

namespace zlink::trusted_file {

enum class kind {
    open,   // that others may read
    secret  // that they may not
};

/// A policy is a page or two; the authorities of TLS, with their lists, are more.
constexpr std::size_t most_octets = 1 << 20;
constexpr std::size_t most_octets_of_tls = 64 << 20;

/// Reads a regular file that may be trusted. False where there is none, or somebody goes on writing
/// it: `why`. Throws std::bad_alloc.
bool read(const std::string &path, kind what, std::string &out, std::string &why);
/// Reads it where it is another file than that of `seen`, which becomes its own: then `is_fresh`.
bool read_if_changed(const std::string &path, kind what, std::size_t most, file_stamp &seen, bool &is_fresh,
                     std::string &out, std::string &why);

struct listed {
    std::string name;
    file_stamp stamp;
};
/// Lists what in a folder that may be trusted has a name with that ending, in no order. More than
/// most_files_in_folder are refused.
constexpr std::size_t most_files_in_folder = 1000;
bool list(const std::string &path, std::string_view ending, std::vector<listed> &out, std::string &why);

}  // namespace zlink::trusted_file
