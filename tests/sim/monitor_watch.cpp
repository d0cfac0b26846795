#include "monitor_watch.hpp"

#include "core/events.hpp"

namespace zlink::sim {

void monitor_watch::complain(std::uint16_t event, const std::string &endpoint, const char *what) {
    world_.violate(promise::legal_events, "event " + std::to_string(event) + " of " + endpoint + " at " +
                                              std::to_string(tag_) + " " + what);
}

/// A dialer begins again.
void monitor_watch::expect_none(endpoint_state &state, std::uint16_t event, const std::string &endpoint) {
    if (state.open.empty())
        return;
    if (keeps_endpoints_)
        return complain(event, endpoint, "comes while there is a connection");
    state.given_up.merge(state.open);
    state.open.clear();
    state.shaking = 0;
}

void monitor_watch::judge(std::uint16_t event, std::uint32_t value, const std::string &endpoint) {
    endpoint_state &state = endpoints_[endpoint];
    world_.tell("event ", event, " ", value, " of ", endpoint, " at ", tag_);
    if (has_stopped_)
        return complain(event, endpoint, "comes after the monitor stopped");
    switch (static_cast<event_kind>(event)) {
    case event_kind::connected:
        expect_none(state, event, endpoint);
        [[fallthrough]];
    case event_kind::accepted:
        if (!state.open.insert(value).second)
            complain(event, endpoint, "comes twice");
        ++state.shaking;
        break;
    case event_kind::handshake_succeeded:
    case event_kind::handshake_failed_no_detail:
    case event_kind::handshake_failed_protocol:
    case event_kind::handshake_failed_auth:
        if (state.shaking == 0 && state.given_up.empty())
            complain(event, endpoint, "comes without a connection");
        else if (state.shaking > 0)
            --state.shaking;
        break;
    case event_kind::disconnected:
        if (state.given_up.erase(value) > 0)
            break;
        if (state.open.erase(value) == 0)
            complain(event, endpoint, "comes without a connection");
        else if (state.open.size() < state.shaking)
            complain(event, endpoint, "comes before the end of the handshake");
        break;
    case event_kind::connect_delayed:
    case event_kind::connect_retried:
        expect_none(state, event, endpoint);
        break;
    case event_kind::monitor_stopped:
        has_stopped_ = true;
        break;
    default:
        break;
    }
}

}  // namespace zlink::sim
