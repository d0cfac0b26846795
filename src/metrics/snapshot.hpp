// The numbers of a context at one time, socket by socket, for the formats that people read.
//
// Limits:   up to `most_sockets` have a line of their own, the oldest, so that each keeps its line;
//           the rest, and what closed sockets have done, are summed.
// Names:    no two lines of a context have the same name and type: the second one has its number
//           behind the name.
// Threads:  any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
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

/// A value as labels have it: 64 octets at most, with question marks in the place of control
/// characters and of what is not ASCII, so that the text is valid whatever a name is made of.
/// Throws bad_alloc.
std::string label_text(std::string_view value);

/// The lines of a context. Throws bad_alloc.
std::vector<line> look_at(context &which);

}  // namespace zlink::metrics
