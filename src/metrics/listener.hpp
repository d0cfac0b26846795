// The place where somebody may ask for the numbers of the process.
//
// Threads:  any.
#pragma once

#include "core/owned_descriptor.hpp"
#include "metrics/address.hpp"

namespace zlink::metrics {

/// Listens there, with a socket that does not block. Empty where that fails; `failure` says why, as
/// an errno: EADDRINUSE also where something else stands at the path. Throws bad_alloc.
owned_descriptor listen_at(const address &where, int &failure);

}  // namespace zlink::metrics
