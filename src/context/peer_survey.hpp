// Asks sessions what they know of their peers, those of all loops at the same time, until a
// deadline: a loop that hangs hides its own peers alone.
//
// Work:     a turn of a loop is for `most_peers_of_turn` of them. Between two turns it does what
//           its connections want. Several askers have their turns one after the other.
// Threads:  one, not that of a loop.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/error.hpp"
#include "core/waiter.hpp"
#include "pipe/peer_view.hpp"
#include "session/session.hpp"

namespace zlink {

class peer_survey {
public:
    static constexpr std::size_t most_peers_of_turn = 64;
    /// A patience that does not end.
    static constexpr duration for_ever = duration::max();

    peer_survey();
    peer_survey(const peer_survey &) = delete;
    peer_survey &operator=(const peer_survey &) = delete;
    ~peer_survey();

    /// `which` is told back with its peers. The sessions' loops run until take() has returned.
    /// Throws bad_alloc.
    void add(std::size_t which, const std::vector<std::shared_ptr<session>> &sessions);
    /// Hands what was found to a function, until all was, or for so long: timed_out, or no_memory,
    /// for what is missing. Those of a loop come in a row, as they were added. Once. Throws
    /// bad_alloc.
    template <class Visitor>
    error take(duration patience, Visitor visit) {
        std::vector<found_peer> found;
        const error e = ask(patience, found);
        for (found_peer &each : found)
            visit(each.which, std::move(each.peer));
        return e;
    }

private:
    struct found_peer {
        std::size_t which;
        peer_view peer;
    };
    struct progress;
    class walk;

    error ask(duration patience, std::vector<found_peer> &found);

    const std::shared_ptr<progress> shared_;  // with the loops, which may be late
    std::map<loop *, std::shared_ptr<walk>> walks_;
};

}  // namespace zlink
