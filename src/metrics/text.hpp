// The numbers of contexts as text: for Prometheus (0.0.4), OpenMetrics (1.0) and as JSON.
//
// Names:    docs/metrics.md. Base units; `_total` of what only grows.
// Threads:  any; pure, but for the time in what is JSON.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "metrics/snapshot.hpp"

namespace zlink::metrics {

enum class format { prometheus, open_metrics, json };

/// A text that has more octets is made anew, with lines for fewer sockets.
constexpr std::size_t most_octets_of_text = 256 * 1024;

/// Throws bad_alloc.
std::string text_of(const numbers_of_contexts &all, format how);
/// The beginning of each object of JSON: whose numbers these are, and of what time. Throws
/// bad_alloc.
std::string beginning_of_json();
/// The name of the number that a counter of an end of connections belongs to, and its reason there.
struct names_of_end {
    const char *number;
    const char *reason;
};
names_of_end names_of(counter which) noexcept;
/// The media type of a format, as an HTTP header has it.
const char *media_type(format how) noexcept;

}  // namespace zlink::metrics
