// Names of inproc endpoints, and the rendezvous of those who connect with those who bind, in either order.
//
// Threads:  any; one lock inside.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/error.hpp"
#include "socket/mailbox.hpp"

namespace zlink {

/// What the other side of a rendezvous must know of a socket.
struct inproc_side {
    std::shared_ptr<mailbox> inbox;
    std::string routing_id;
    std::string hello_message;
    std::uint64_t send_hwm = 0;
    std::uint64_t receive_hwm = 0;
    bool conflate = false;
    const void *owner = nullptr;  // identity of the socket, never dereferenced
};

class inproc_names {
public:
    inproc_names(std::shared_ptr<chunk_pool> pool, const batching &sizes)
        : pool_(std::move(pool)), sizes_(sizes) {}

    /// Publishes a name and joins all who connected to it before. address_in_use when it is taken.
    error bind(const std::string &name, const inproc_side &self);
    /// Takes a name of `owner`'s back. no_entry when it has none of that name.
    error unbind(const std::string &name, const void *owner) noexcept;
    /// Makes a pipe to whoever is, or will be, bound to the name; `out` is the connecting socket's end, its events set.
    error connect(const std::string &name, const inproc_side &self, pipe_end_ptr &out);
    /// Drops the connects to a name that were taken back before anybody bound it.
    void forget_closed(const std::string &name) noexcept;
    /// The socket closes: its names and its unanswered connects go.
    void forget(const void *owner) noexcept;

private:
    struct waiting {
        inproc_side side;
        pipe_end_ptr near;
        pipe_end_ptr far;
    };
    bool join(const inproc_side &bound, const waiting &who, const std::string &name);

    std::shared_ptr<chunk_pool> pool_;
    const batching sizes_;
    std::mutex mutex_;  // guards the rest
    std::map<std::string, inproc_side> bound_;
    std::multimap<std::string, waiting> waiting_;
};

}  // namespace zlink
