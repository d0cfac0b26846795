// A run of sockets that lose messages all the time: marks are small and nobody waits, addresses and
// topics are wrong, messages are too large, and replies come when nobody wants them any more.
// Nothing is promised of a message but that the counters say, once, what has become of it (promise
// 19).
//
// Flow:     traffic under faults; heal; the end. Whoever is left is the side that loses by itself.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "stage.hpp"

namespace zlink::sim {

class losses final : private stage {
public:
    losses(std::uint64_t seed, planted plant, const dice &chance, const tuning &knobs);
    verdict run();

private:
    enum class cast { publishers, routers, repliers, pushers };
    struct player {
        int tag = 0;
        bool is_left = false;
        settings options;
        std::unique_ptr<socket> handle;
        std::vector<octets> known;  // routing ids, of a ROUTER
    };
    enum class outcome { done, not_now, ended };

    sim_context &home_of(const player &self) noexcept { return self.is_left || is_inproc_ ? left_ : right_; }
    bool is_publishing() const noexcept { return cast_ == cast::publishers; }
    void add(bool is_left, socket_type type);
    void open(player &self);
    void live(player &self);
    void turn(player &self);
    void serve(player &self);
    void ask(player &self);
    void route(player &self);
    void change_topics(player &self);
    octets body();
    std::vector<octets> message_behind(std::vector<octets> front);
    outcome send(player &self, const std::vector<octets> &parts);
    outcome receive(player &self, std::vector<octets> &parts);
    bool is_excused(error e) const noexcept;
    unsigned next_failure();
    void conduct();
    void check();

    cast cast_;
    bool is_inproc_ = false;
    bool left_binds_ = false;
    bool is_calm_ = false;
    bool is_sealed_ = false;          // with CURVE
    std::uint64_t most_octets_ = 0;   // a message that somebody finds too large has more; 0: nobody
    std::uint64_t short_memory_ = 0;  // calls in which an allocation fails, of a million
    bool is_over_ = false;
    std::deque<player> players_;
};

}  // namespace zlink::sim
