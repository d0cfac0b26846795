// A path as it is from anywhere: a program may go to another folder later.
//
// Threads:  any.
#pragma once

#include <climits>
#include <string>
#include <unistd.h>

namespace zlink {

/// A relative one stays as it is where the system does not say what it starts from. Throws
/// bad_alloc.
inline std::string whole_path(const std::string &path) {
    char folder[PATH_MAX];
    return !path.starts_with('/') && ::getcwd(folder, sizeof folder) ? folder + ("/" + path) : path;
}

}  // namespace zlink
