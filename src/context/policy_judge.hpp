// Judges the peers of an endpoint whose policy names its users: the policy has to know a peer, and
// so does the program's own handler, where there is one.
//
// Threads:  those of core/authenticator.hpp.
#pragma once

#include <memory>

#include "core/authenticator.hpp"
#include "core/standing.hpp"

namespace zlink {

/// `handlers`, which may be null, outlives it. Without `asks_of_certificates` it is not asked about
/// these: the program has not wanted that.
std::shared_ptr<authenticator> make_policy_judge(std::shared_ptr<standing> policy, authenticator *handlers,
                                                 bool asks_of_certificates);

}  // namespace zlink
