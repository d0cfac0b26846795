// The numbers of a context at one time, socket by socket, for the formats that people read.
//
// Limits:   up to `most_sockets` have a line of their own, those with the most messages in their
//           queues first; the rest, and what closed sockets have done, are summed.
// Threads:  any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "context/context.hpp"
#include "socket/stats.hpp"

namespace zlink::metrics {

constexpr std::size_t most_sockets = 64;

struct line {
    std::string context;  // its number in this process
    std::string socket;   // its name, or its number and endpoint; "_other" of the rest
    std::string type;     // "PUB"; empty of the rest
    stats numbers;
};

/// The lines of a context. Throws bad_alloc.
std::vector<line> look_at(context &which);

}  // namespace zlink::metrics
