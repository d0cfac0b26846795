// The peers of all sockets as JSON: who they are, and what each has been sent, has lost and keeps
// waiting.
//
// Limits:   up to `most_peers` of the process have a line of their own: those for whom most
//           messages wait, then those that have lost most. The others are summed, socket by socket.
//           `most_peers` of those that have gone, too: the ones that went most often, then
//           last, of as many as departures.hpp keeps of a socket.
// Threads:  any; pure, but for the time in the text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "context/context.hpp"

namespace zlink::metrics {

constexpr std::size_t most_peers = 256;

struct peers_of_context {
    std::string context;  // its number in this process
    std::vector<socket_and_peers> sockets;
    bool is_whole = true;  // every I/O thread has answered in time
    time_point now{};      // of the look
};

/// Throws bad_alloc.
std::string text_of(std::vector<peers_of_context> all);

}  // namespace zlink::metrics
