// Contract: what a socket asks its context for. Implemented by the layer context, which knows
//           sessions and inproc names.
//
// Threads:  the socket's application thread, unless a function says otherwise.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/events.hpp"
#include "core/settings.hpp"
#include "core/waiter.hpp"
#include "pipe/peer_view.hpp"

namespace zlink {

class socket;

class endpoint_service {
public:
    virtual ~endpoint_service() = default;

    /// Binds `self` to an endpoint; `actual` gets the endpoint with wild cards resolved.
    virtual error bind(socket &self, const std::string &endpoint, std::string &actual) = 0;
    virtual error connect(socket &self, const std::string &endpoint, std::string &actual) = 0;
    /// Ends a bind or connect made with exactly this endpoint (or its resolved form). no_entry when
    /// there is none.
    virtual error unbind(socket &self, const std::string &endpoint) = 0;
    virtual error disconnect(socket &self, const std::string &endpoint) = 0;
    /// Adds the peers of `self` over the network, and the addresses that it connects to. Any
    /// thread. Throws bad_alloc.
    virtual error list_peers(const socket &self, std::vector<peer_view> &to) = 0;
    /// Ends the connection to a peer of `self` over the network, by the id that list_peers() tells;
    /// an address that is connected to is dialed again. no_entry when there is none.
    virtual error cut_peer(socket &self, std::uint64_t id) = 0;
    /// The socket is about to close: nobody is accepted any more, on return. So a peer whose
    /// connection ends then does not come back to a socket that is closing.
    virtual void stop_listening(socket &self) noexcept = 0;
    /// The socket closes: everything it bound or connected ends; sessions linger as their pipes
    /// say.
    virtual void close_all(socket &self) noexcept = 0;
    /// A PAIR socket of the library's own, bound to an inproc endpoint, for monitor events.
    virtual error make_monitor_socket(const std::string &endpoint, std::unique_ptr<socket> &out) = 0;
};

}  // namespace zlink
