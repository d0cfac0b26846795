// The endpoint service of a socket that binds and connects nowhere.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "socket/endpoint_service.hpp"
#include "socket/socket.hpp"

namespace zlink::test {

/// Pipes are joined by the test.
class no_endpoints final : public endpoint_service {
public:
    error bind(socket &, const std::string &, std::string &) override { return error::invalid; }
    error connect(socket &, const std::string &, std::string &) override { return error::invalid; }
    error unbind(socket &, const std::string &) override { return error::no_entry; }
    error disconnect(socket &self, const std::string &endpoint) override {
        return self.detach_endpoint(endpoint) ? error::none : error::no_entry;
    }
    error list_peers(const socket &, std::vector<peer_view> &) override { return error::none; }
    error cut_peer(socket &, std::uint64_t) override { return error::no_entry; }
    void stop_listening(socket &) noexcept override {}
    void close_all(socket &) noexcept override {
        if (at_close)
            at_close();
    }
    error make_monitor_socket(const std::string &, std::unique_ptr<socket> &) override {
        return error::not_supported;
    }

    std::function<void()> at_close;  // does what other threads do meanwhile
};

}  // namespace zlink::test
