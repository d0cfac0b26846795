// Which entry of a policy is meant by an endpoint. Pure.
#pragma once

#include "policy/rules.hpp"

namespace zlink {

/// The first that matches, or null. An endpoint that cannot be taken apart matches only what names
/// no part of it.
const policy_entry *first_match(const policy_rules &in, const endpoint_request &what);

}  // namespace zlink
