// Files that nobody else can change: read only where neither they nor a folder on the way to them is open to others.
//
// Way:      from the root, folder by folder, each judged by the descriptor that leads to the next; symbolic links are not followed. What is
//           read is what was judged.
// Trusted:  root and the effective user. A folder that others may write is good enough where it is root's and sticky; and on a mount that is read-only
//           nobody writes.
#pragma once

#include <cstddef>
#include <string>

namespace zlink::trusted_file {

enum class kind {
    open,   // that others may read
    secret  // that they may not
};

/// A policy is a page or two.
constexpr std::size_t most_octets = 1 << 20;

/// Whether a regular file is there that may be trusted and read. If not, `why`. Throws std::bad_alloc.
bool check(const std::string &path, kind what, std::string &why);
/// check(), and what stands in it. False, too, when somebody writes it meanwhile.
bool read(const std::string &path, kind what, std::string &out, std::string &why);

}  // namespace zlink::trusted_file
