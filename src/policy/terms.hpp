// The result of an entry for a bind or a connect: options, and where and by what it goes. Pure.
//
// Program:  an option that the program has set holds only where it is stricter; docs/policy.md has
//           the table.
#pragma once

#include "core/settings.hpp"
#include "policy/rules.hpp"

namespace zlink {

struct endpoint_terms {
    settings options;
    std::string address;         // to bind or connect to, without its scheme
    bool is_inside_tls = false;  // also where the scheme is tcp or ws
    // It is as in credentials, of peers that the policy judges; empty = it judges none.
    std::string judged_mechanism;

    bool operator==(const endpoint_terms &) const = default;
};

/// False where it is refused: `why`, and `line` of the entry, 0 where none matches. Throws
/// std::bad_alloc.
bool judge(const policy_rules &by, const endpoint_request &what, const settings &program, endpoint_terms &out,
           std::string &why, int &line);

}  // namespace zlink
