// Checks what an entry of a policy must have, and must not have. Pure.
#pragma once

#include "policy/rules.hpp"

namespace zlink {

/// Says what is wrong with it, in words; null where nothing is.
const char *fault_in(const policy_entry &entry, bool has_use) noexcept;

}  // namespace zlink
