// What every kind of run is played on: the world, the network, the two processes, the oracle;
// faults, and the end.
#pragma once

#include <string>

#include "ledger.hpp"
#include "network.hpp"
#include "scenario.hpp"
#include "sim_context.hpp"

namespace zlink::sim {

class stage {
protected:
    stage(std::uint64_t seed, planted plant, const dice &chance, const message_profile &looks,
          std::size_t loops, const tuning &knobs)
        : seed_(seed), chance_(chance), world_(seed, plant), ledger_(world_, seed, looks),
          network_(world_, ledger_), left_(world_, network_, loops, knobs),
          right_(world_, network_, loops, knobs) {
        ledger_.watch(network_, held_octets(knobs));
    }
    ~stage() = default;

    /// What the receiving connection may hold back: what one read brings.
    static std::size_t held_octets(const tuning &knobs) {
        return std::max<std::size_t>(knobs.tcp.in_batch_size, 512) + 3 * 8192;
    }
    /// How often calls go wrong. `is_calm`: nothing breaks.
    void set_faults(bool is_calm);
    /// The last fault.
    void heal();
    /// One thing that goes wrong: a number below `disturbances`.
    void disturb(std::uint64_t what);
    static constexpr std::uint64_t disturbances = 13;
    static constexpr std::uint64_t starving = 11;
    /// Promise 7.
    void finish(sim_context &which, const std::string &name, duration at_most);
    /// Both, one after the other.
    void finish_both(duration at_most);
    /// Runs the actors to their end, and looks for what is left.
    verdict play(const std::string &story);

    std::uint64_t seed_;
    dice chance_;  // members and conductor
    world world_;
    ledger ledger_;
    network network_;
    sim_context left_;
    sim_context right_;
    std::uint64_t delivered_ = 0;

private:
    void check_leftovers();
};

}  // namespace zlink::sim
