// The monitor of a socket, and the socket that it publishes on.
#include <span>
#include <utility>

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

    bool publish(byte_span event, byte_span endpoint, byte_span words) noexcept override {
        const platform::cancellation_shield shield;
        const byte_span parts[] = {event, endpoint, words};
        const std::span<const byte_span> all(parts, words.empty() ? 2 : 3);
        return try_publish(all) || (output_->arm(ZMQ_POLLOUT) && try_publish(all));
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

error socket::start_monitor(const char *endpoint, int events) {
    if (const error e = pipes_.enter_beside(); failed(e))
        return e;
    monitor_->publish_on(nullptr, 0);
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
    monitor_->publish_on(std::make_unique<socket_publisher>(std::move(publisher)), events);
    // Nobody but the monitor looks after the publisher: a reader that comes late, or is late, finds
    // what happened before.
    inbox->call_on_room([events = std::weak_ptr<monitor>(monitor_)] {
        if (const auto alive = events.lock())
            alive->flush();
    });
    return error::none;
}

}  // namespace zlink
