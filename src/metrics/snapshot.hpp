// The numbers of a context at one time, socket by socket, for the formats that people read.
//
// Limits:   the sockets that have lines of their own are named by a line_allotment; the rest, and
//           what closed sockets have done, are summed. What the sum counts never falls: what
//           sockets do while they are read is told in their lines alone. So it is with contexts. Of
//           a context that is summed the I/O threads are left out.
// Names:    no two lines of a context have the same name and type: the second one has its number
//           behind the name.
// Threads:  any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/context.hpp"
#include "metrics/line_allotment.hpp"
#include "socket/stats.hpp"

namespace zlink::metrics {

/// The I/O threads of a context that have lines of their own, at most.
constexpr std::size_t most_threads = 16;

struct line {
    std::string context;  // its number in this process
    std::string socket;   // its name, or its number and endpoint; "_other" of the rest
    std::string type;     // "PUB"; empty of the rest
    std::optional<socket_type> known_type;
    stats numbers;
};

/// A context itself.
struct context_line {
    std::string context;
    context_numbers numbers;
    std::vector<io_thread_numbers> threads;  // behind the first most_threads of them their sum
    std::uint64_t queued_octets = 0;
};

struct numbers_of_contexts {
    std::vector<line> sockets;
    std::vector<context_line> contexts;
};

/// The octets of a name that a label has, at most.
constexpr std::size_t most_octets_of_label = 64;
/// A value as labels have it: with question marks in the place of control characters and of what is
/// not ASCII, so that the text is valid whatever a name is made of. One that is longer than `most`
/// ends in a ~ and a number that is made of all of it, the same each time. Throws bad_alloc.
std::string label_text(std::string_view value, std::size_t most = most_octets_of_label);
/// Adds that as it stands between quotation marks, in a label and in JSON.
void add_quoted(std::string &to, std::string_view value, std::size_t most = most_octets_of_label);

/// Finds names for sockets, asked for one after the other in the order of their numbers, such that
/// no two of a context have the same name and type.
class names_of_sockets {
public:
    /// Throws bad_alloc.
    std::string operator()(std::uint64_t number, std::string name, const std::string &type);

private:
    std::set<std::pair<std::string, std::string>> seen_;
};

/// Adds the lines of a context. Throws bad_alloc.
void look_at(context &which, line_allotment &lines, numbers_of_contexts &to);

/// The sum of the contexts that have no lines of their own.
struct rest_of_contexts {
    stats most;  // what was shown last
    bool has_been_shown = false;
};
/// The context is a part of the sum.
void add_to_rest(context &which, line &sum, context_line &numbers);
/// Adds the sum, of which nothing falls. Throws bad_alloc.
void add_rest(line &&sum, context_line &&numbers, rest_of_contexts &memory, numbers_of_contexts &to);

}  // namespace zlink::metrics
