// Holds what every kind of run is played on: the world, the network, the two processes, the oracle;
// faults, and the end.
#pragma once

#include <map>
#include <set>
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

    /// Returns what the receiving connection may hold back: what one read brings.
    static std::size_t held_octets(const tuning &knobs) {
        return std::max<std::size_t>(knobs.tcp.in_batch_size, 512) + 3 * 8192;
    }
    /// Makes a socket one of CURVE's. Nothing is set where CURVE is not built.
    static void set_keys(settings &options, bool is_server);
    /// Sets how often calls go wrong. `is_calm`: nothing breaks.
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
    /// The tags of the sockets of a side.
    using tags = std::map<sim_context::group, std::set<int>>;
    /// Promise 19, over the network: after the end of a side its counters are held against what its
    /// streams have carried.
    /// `mistakable`: messages to PUBs may hold what the connection takes for a subscription, and
    /// the socket does not.
    void check_counters(const std::string &name, const sim_context &which, const tags &sockets,
                        bool mistakable = false);
    /// Publishers of both sides, and subscribers that send to them.
    void check_wanted();
    struct run_kind {
        bool is_inproc;  // all sockets are of the left process
        bool is_publishing;
        bool is_mistakable = false;  // as in check_counters()
    };
    /// Promise 19 for both sides, but for check_wanted().
    void check_sides(const tags &left, const tags &right, const run_kind &how);

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
    /// Likewise, against what its application has given to the sockets, and taken from them.
    void check_given(const std::string &name, const sim_context &which);
    void check_taken(const std::string &name, const sim_context &which);
    /// Likewise for publishers. `sockets`: over the network; over inproc subscriptions are no
    /// messages.
    void check_upstream(const std::string &name, const sim_context &which, const tags *sockets);
    void check_read(const std::string &name, const sim_context &which, const tags &sockets, bool mistakable);
    std::uint64_t unopened(const tags &sockets, sim_context::group to) const;
    std::uint64_t came(const tags &sockets, sim_context::group to,
                       std::uint64_t message_meter::found::*what) const;
    std::uint64_t counted(const counters &which, counter what) const;
    /// The other may be more, by so many.
    void expect_equal(const std::string &side, const std::string &what, std::uint64_t one,
                      std::uint64_t other, std::uint64_t more_at_most = 0);
};

}  // namespace zlink::sim
