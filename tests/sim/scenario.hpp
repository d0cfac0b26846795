// One run: the seed chooses what is played: conversations.hpp, or newest.hpp; members do their
//          traffic; the oracle judges.
//
// Flow:     chaos (traffic under faults) | heal, then everybody must be heard again by everybody
//           within the time of a reconnect | a last round that must arrive whole | the end, one of
//           several, which must come in time | nothing may be left. Some runs are terminated in the
//           middle of the chaos.
#pragma once

#include <cstdint>
#include <string>

#include "planted.hpp"
#include "world.hpp"

namespace zlink::sim {

struct verdict {
    promise broken = promise::none;
    std::string what;
    std::string story;  // what kind of run it was
    std::uint64_t trace = 0;
    std::uint64_t steps = 0;
    duration elapsed{};  // virtual
    std::uint64_t delivered = 0;
    std::uint64_t breaks = 0;
    std::uint64_t lendings = 0;
    std::uint64_t reads_by_borrowers = 0;
    std::uint64_t writes_by_senders = 0;
    std::uint64_t breaks_in_use = 0;  // of connections that a borrower was using
    std::uint64_t rings = 0;          // streams that were read from one
    std::uint64_t full_rings = 0;
    std::uint64_t hostile_rings = 0;  // of peers that write nonsense there
    std::uint64_t judged = 0;         // connections that a handler was asked about
    std::uint64_t kept_out = 0;       // of these
    pipe_watch::counts at_pipes{};
};

verdict run_seed(std::uint64_t seed, planted plant = planted::nothing);

}  // namespace zlink::sim
