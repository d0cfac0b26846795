// The peers that a socket has lost, and those that it did not let in: who, why, and how often. A
// peer that comes and goes, or is turned away, has no queue by which it could be seen.
//
// Limits:   up to `most_departures` of them: for another one goes who has gone least often, of
//           these the one that went first. A peer is known by its host, the endpoint, the routing
//           id and the user that it had: each time it comes from another port.
// Threads:  any; one lock inside, that no message waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/counters.hpp"
#include "core/waiter.hpp"

namespace zlink {

struct departure {
    std::string endpoint;  // bound or connected to
    std::string host;      // of the far side; empty where it has none
    std::string routing_id;
    std::string user_id;
    counter why{};      // what its end is counted as
    std::string words;  // why it went last, where that needs some
    bool is_connecting = false;
    std::uint64_t times = 1;
    time_point last{};
};

class departures {
public:
    static constexpr std::size_t most_departures = 64;

    /// Counts it with those of the same peer and kind. Nothing happens where memory is short.
    void note(departure what) noexcept;
    /// Throws bad_alloc.
    std::vector<departure> all() const;

private:
    mutable std::mutex mutex_;  // guards the rest
    std::vector<departure> known_;
};

}  // namespace zlink
