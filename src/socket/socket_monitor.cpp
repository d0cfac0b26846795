// The monitor of a socket, and the socket that it publishes on.
#include <span>
#include <utility>
#include <vector>

#include "core/platform.hpp"
#include "socket/options.hpp"
#include "socket/socket.hpp"
#include "zmq.h"

namespace zlink {

namespace {

bool is_inproc(const std::string &endpoint) noexcept { return endpoint.starts_with("inproc://"); }

/// Monitor events on a socket of the library's own.
class socket_publisher final : public event_publisher {
public:
    explicit socket_publisher(std::unique_ptr<socket> output) noexcept : output_(std::move(output)) {}
    ~socket_publisher() override { output_->close(); }

    bool publish(std::span<const byte_span> frames) noexcept override {
        const platform::cancellation_shield shield;
        return try_publish(frames) || (output_->arm(ZMQ_POLLOUT) && try_publish(frames));
    }
    void lift_mark() noexcept override {
        constexpr int none = 0;
        const platform::cancellation_shield shield;
        (void)output_->set_option(ZMQ_SNDHWM, &none, sizeof none);
    }

private:
    /// When memory fails between two frames, the next call, which is for the same event, goes on
    /// with the second.
    bool try_publish(std::span<const byte_span> frames) noexcept {
        for (; sent_ < frames.size(); ++sent_) {
            const int more = sent_ + 1 < frames.size() ? ZMQ_SNDMORE : 0;
            if (failed(output_->send(frames[sent_], ZMQ_DONTWAIT | more)))
                return false;
        }
        sent_ = 0;
        return true;
    }

    const std::unique_ptr<socket> output_;
    std::size_t sent_ = 0;  // frames of the event under way
};

}  // namespace

error socket::make_monitor(const socket_environment &environment, const std::string &endpoint,
                           std::unique_ptr<socket> &out) {
    settings options = default_settings(socket_type::pair);
    options.linger_ms = 0;
    auto made = make(options, environment);
    const error e = made->bind(endpoint.c_str());
    if (failed(e))
        made->close();
    else
        out = std::move(made);
    return e;
}

error socket::start_monitor(const char *endpoint, std::uint64_t events, int version) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    monitor_->publish_on(nullptr, 0);
    options_.hears_gaps = false;
    if (!endpoint)
        return error::none;
    const std::string name = endpoint;
    if (name.find("://") == std::string::npos)
        return error::invalid;
    if (!is_inproc(name))
        return error::protocol_not_supported;
    std::unique_ptr<socket> publisher;
    if (const error e = environment_.endpoints.make_monitor_socket(name, publisher); failed(e))
        return e;
    const auto inbox = publisher->inbox();
    monitor_->publish_on(std::make_unique<socket_publisher>(std::move(publisher)), events, version);
    pipes_.forget_slow();  // who listens from now on hears of those that are slow now
    options_.hears_gaps = monitor_->wants_gaps();
    // Nobody but the monitor looks after the publisher: a reader that comes late, or is late, finds
    // what happened before.
    inbox->call_on_room([events = std::weak_ptr<monitor>(monitor_)] {
        if (const auto alive = events.lock())
            alive->flush();
    });
    return error::none;
}

error socket::peer_events(std::string_view routing_id, short &out) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    (void)pattern_->has_output();  // takes in who has come, and has no name yet
    bool has_room = false;
    const error e = pattern_->has_room_for(routing_id, has_room);
    out = has_room ? ZMQ_POLLOUT : 0;
    return e;
}

error socket::report_pipes() {
    if (!monitor_->wants_pipes_stats())
        return error::invalid;
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    std::vector<peer_view> peers;
    if (const error e = list_peers(peers); failed(e))
        return e;
    std::erase_if(peers, [](const peer_view &each) { return each.at != peer_view::state::ready; });
    for (const peer_view &each : peers)
        monitor_->emit({.kind = event_kind::pipes_stats,
                        .value = static_cast<std::uint32_t>(each.out.under_way().messages),
                        .endpoint = each.endpoint,
                        .is_connecting = each.is_connecting,
                        .peer = {each.address, each.routing_id, each.user_id},
                        .more_value = each.in.under_way().messages});
    return peers.empty() ? error::again : error::none;
}

}  // namespace zlink
