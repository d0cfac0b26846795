// A listener over a listening socket of any family: accepts, and goes on after failures.
#pragma once

#include "transport/endpoint.hpp"
#include "transport/readiness.hpp"
#include "transport/socket_options.hpp"
#include "transport/transport.hpp"

namespace zlink {

/// Turns an accepted socket into a stream of `io`, on its thread: what a stream_maker does.
using admission = std::function<error(loop &io, owned_descriptor socket, const sockaddr *peer,
                                      socklen_t length, std::unique_ptr<stream> &out)>;

/// parse_tcp_bind() for a listener: leaves the reason of a failure. Throws std::bad_alloc.
error read_tcp_bind(std::string_view address, tcp_local_address &out);
/// Takes the listening socket that an application brings (ZMQ_USE_FD). Leaves the reason of a
/// failure; throws std::bad_alloc.
error adopt_bound_socket(int descriptor, owned_descriptor &out);

class socket_listener : public listener, private readiness_events {
public:
    /// Any thread. `admit` is called by several at once, and may outlive this.
    socket_listener(loop &io, owned_descriptor socket, std::string endpoint, admission admit)
        : loop_(io), endpoint_(std::move(endpoint)),
          admit_(std::make_shared<const admission>(std::move(admit))), socket_(std::move(socket)) {}
    ~socket_listener() override;

    void start(accept_handler handler) noexcept override;
    void go_on() noexcept override;
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return ready_ ? ready_.descriptor() : socket_.get(); }

private:
    void on_readable() noexcept override;
    void on_writable() noexcept override {}
    void listen_on() noexcept;
    void try_again() noexcept;
    bool accept_one() noexcept;
    bool report(stream_maker accepted, error failure) noexcept;
    void pause() noexcept;
    bool watch_descriptors() noexcept;

    // Constant after construction
    loop &loop_;
    const std::string endpoint_;
    const std::shared_ptr<const admission> admit_;

    // Loop thread only, once started
    owned_descriptor socket_;  // until it is registered
    readiness ready_;
    accept_handler handler_;
    std::unique_ptr<timer> pause_;
    class rest;
    rest *rest_ = nullptr;     // once there was no descriptor
    bool *is_gone_ = nullptr;  // set while the handler runs: it may destroy this object
};

}  // namespace zlink
