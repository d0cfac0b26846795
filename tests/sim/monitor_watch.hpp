// Judges the events that a socket's monitor reports: each connection begins, has its handshake and
// ends, in this order.
//
// Dialing:  one connection after the other for each endpoint. Listening: several at a time, told
//           apart by descriptor; their handshakes are counted.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "world.hpp"

namespace zlink::sim {

class monitor_watch {
public:
    /// `keeps_endpoints`: else a connection may end without a word, and another begin while it
    /// lingers.
    monitor_watch(world &owner, int tag, bool keeps_endpoints)
        : world_(owner), tag_(tag), keeps_endpoints_(keeps_endpoints) {}

    void judge(std::uint16_t event, std::uint32_t value, const std::string &endpoint);
    bool has_stopped() const noexcept { return has_stopped_; }

private:
    struct endpoint_state {
        std::set<std::uint32_t> given_up;
        std::set<std::uint32_t> open;  // descriptors
        std::size_t shaking = 0;       // of these, at most so many whose handshake has not ended
    };
    void expect_none(endpoint_state &state, std::uint16_t event, const std::string &endpoint);
    void complain(std::uint16_t event, const std::string &endpoint, const char *what);

    world &world_;
    int tag_;
    bool keeps_endpoints_;
    bool has_stopped_ = false;
    std::map<std::string, endpoint_state> endpoints_;
};

}  // namespace zlink::sim
