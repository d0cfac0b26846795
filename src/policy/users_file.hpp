// The text of a file of users, TOML, whom the handler of a policy knows; see docs/policy.md.
#pragma once

#include <string>

#include "policy/rules.hpp"

namespace zlink {

/// False where it cannot be understood, or has nobody for that use: `why`, with "path:line: " in
/// front. Throws std::bad_alloc.
bool read_users(const std::string &text, const std::string &path, protection use, policy_users &out,
                std::string &why);

}  // namespace zlink
