// The network endpoints of one socket: what it bound and connected, and the sessions that came of
// it.
//
// Threads:  bind, connect, remove, close on the socket's thread; the session_host functions on loop
//           threads.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tuning.hpp"
#include "policy/policy.hpp"
#include "reactor/loop_supply.hpp"
#include "session/acceptor.hpp"
#include "session/session.hpp"
#include "socket/socket.hpp"

namespace zlink {

/// Counts sessions of a context that are not over, so that it knows when it may end.
class session_count {
public:
    virtual ~session_count() = default;
    virtual void session_began() noexcept = 0;
    virtual void session_ended() noexcept = 0;  // loop thread
};

/// The place where connections live, and their ways to the world: I/O threads and real transports,
/// or the simulator's.
class io_supply : public loop_supply {
public:
    virtual const transport *find(std::string_view scheme) noexcept = 0;
};

class endpoints final : public session_host, public std::enable_shared_from_this<endpoints> {
public:
    struct environment {
        io_supply &io;
        const tuning &knobs;
        std::shared_ptr<chunk_pool> pool;
        random_source &random;
        session_count &count;
        authenticator *judges = nullptr;  // null: nobody can be asked
        policy *rules = nullptr;          // null: nothing rules endpoints
    };
    endpoints(socket &self, const environment &environment);

    error bind(socket &self, const std::string &scheme, const std::string &address, std::string &actual);
    error connect(socket &self, const std::string &scheme, const std::string &address, std::string &actual);
    /// Ends what was bound or connected as `endpoint`: the listener, the sessions of both kinds,
    /// their pipes.
    error remove(socket &self, const std::string &scheme, const std::string &address);
    /// Unbinds every address: on return nobody is accepted any more. The socket's thread.
    void stop_listening() noexcept;
    /// The socket closes, and lingers so long at most, in milliseconds; -1: for ever.
    void close(int linger_ms) noexcept;

    /// The policy has changed: connections that it does not allow any more end. Any thread.
    void look_at_permissions() noexcept;

    /// Adds the peers, and the addresses that are connected to. Asks the loops, and waits for them;
    /// not from their threads. Any other thread. Throws bad_alloc.
    error list_peers(std::vector<peer_view> &to);
    /// Any thread. Throws bad_alloc.
    std::vector<std::shared_ptr<session>> sessions();

    /// Ends the connection of a session. no_entry when there is none of that number. Any thread.
    error cut_peer(std::uint64_t number) noexcept;

    pipe_end_ptr make_session_pipe(session &which) noexcept override;
    void withdraw_pipe(const pipe_end &sockets_end) noexcept override { (void)inbox_->withdraw(sockets_end); }
    void on_session_end(session &which) noexcept override;

private:
    /// The way a bind or connect goes, and on what terms.
    struct route {
        bool binds = false;
        const transport *kind = nullptr;
        endpoint_terms terms;
        std::shared_ptr<standing> permission;  // of a policy
    };
    error find_route(socket &self, bool binds, const std::string &scheme, const std::string &address,
                     route &out);
    session_environment_ptr environment_for(socket &self, const route &where, loop &io, std::string endpoint);
    std::string bound_as(const std::string &endpoint) const;
    static pipe_options pipe_for(const settings &options, const batching &sizes) noexcept;
    bool add(const std::shared_ptr<session> &what);
    error remove_named(socket &self, const std::string &endpoint);
    bool stop_listening_at(const std::string &endpoint) noexcept;
    std::optional<socket::unread_input> stop_sessions(const std::string &endpoint);

    environment environment_;
    std::shared_ptr<mailbox> inbox_;
    std::vector<std::shared_ptr<acceptor>> acceptors_;    // socket's thread only
    std::weak_ptr<const session_environment> last_made_;  // socket's thread only
    std::vector<std::pair<std::string, std::string>>
        moved_;         // socket's thread only: endpoints that a policy has bound as others
    std::mutex mutex_;  // guards the rest
    std::vector<std::shared_ptr<session>> sessions_;
    bool is_closed_ = false;
};

}  // namespace zlink
