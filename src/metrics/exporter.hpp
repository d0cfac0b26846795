// The contexts of the process, and the thread that tells whoever asks what they do: ZLINK_METRICS.
//
// Begins:   with the first context, if the environment asks for it. An address that is taken, or
//           none, costs one line on stderr and nothing else.
// Answers:  GET /metrics (Prometheus, or OpenMetrics where that is accepted), /metrics.json,
//           /healthz, and where it is asked for /peers; or writes /metrics.json and /metrics into a
//           file.
// Ends:     with the process; in a child of fork it begins anew with its first context. The library
//           stays loaded for it.
// Threads:  any. A context that goes waits until it is not looked at.
#pragma once

#include <string>

#include "context/context.hpp"
#include "metrics/text.hpp"

namespace zlink::metrics {

/// The context is there, and told of, until forget(). Does nothing where nobody asked for metrics,
/// or memory is short.
void watch(context &which) noexcept;
void forget(context &which) noexcept;

/// The numbers of one context. Throws bad_alloc.
std::string numbers_of(context &which, format how);

}  // namespace zlink::metrics
