// The authentication handler of a process, an actor at inproc://zeromq.zap.01: while there is chaos
// it answers late, twice, wrongly or not at all, lets some in and others not, or goes away and
// comes back.
//
// Promise:  17 admits: nobody is heard whom it has not let in. Peers are told apart by their
//           addresses, which are those of connections.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "dice.hpp"
#include "sim_context.hpp"
#include "world.hpp"

namespace zlink::sim {

class handler {
public:
    /// `may_refuse_for_good`: a client that is told so comes again.
    handler(world &owner, sim_context &home, const dice &chance, bool may_refuse_for_good)
        : world_(owner), home_(home), chance_(chance), may_refuse_for_good_(may_refuse_for_good) {}

    /// The life of the actor, until its process ends.
    void live();
    /// From now on it is there, and lets everybody in at once.
    void calm() noexcept { is_calm_ = true; }
    bool has_admitted(int link) const { return admitted_.contains(link); }
    std::uint64_t asked() const noexcept { return asked_; }
    std::uint64_t admitted() const noexcept { return admitted_.size(); }

private:
    using frames = std::vector<std::string>;
    enum class mood { admits, is_late, says_nothing, answers_twice, is_wrong, refuses, goes_away };

    mood choose_mood();
    error receive(socket &self, frames &out);
    error send(socket &self, const frames &what);
    void serve(socket &self, bool is_router);
    /// False when it goes away.
    bool answer(socket &self, const frames &asked, bool is_router);
    frames wrong(frames reply);

    world &world_;
    sim_context &home_;
    dice chance_;
    const bool may_refuse_for_good_;
    bool is_calm_ = false;
    std::uint64_t asked_ = 0;
    std::set<int> judged_;    // links; what is said first counts
    std::set<int> admitted_;  // of these
};

}  // namespace zlink::sim
