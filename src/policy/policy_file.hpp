// The text of a policy, TOML, and what it says; see docs/policy.md.
//
// Closed:   what is not known, key or value, is an error; so is an entry that lacks a file or needs
//           what is not built in.
#pragma once

#include <string>

#include "policy/rules.hpp"

namespace zlink {

/// `path`: names the file in errors, and other files are found from its folder. False where it
/// cannot be understood: `why`, with "path:line: " in front. Looks at no file. Throws
/// std::bad_alloc.
bool read_policy(const std::string &text, const std::string &path, policy_rules &out, std::string &why);

}  // namespace zlink
