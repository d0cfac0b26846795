// Names of inproc endpoints, and the rendezvous of those who connect with those who bind, in either
// order.
//
// Lasting:  a name stands for those who come. Taking it back does nothing to those who came.
//           Messages sent on a pipe that nobody had taken yet when its sender disconnected or
//           closed wait for whoever binds the name, until the context ends. Those of a closed
//           socket that has lingered long enough give way to other sockets.
// Threads:  any; one lock inside.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/counters.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/waiter.hpp"
#include "socket/mailbox.hpp"

namespace zlink {

/// The facts of a socket that the other side of a rendezvous must know.
struct inproc_side {
    std::shared_ptr<mailbox> inbox;
    std::string routing_id;
    std::string hello_message;
    std::uint64_t send_hwm = 0;
    std::uint64_t receive_hwm = 0;
    bool conflate = false;
    socket_type type = socket_type::pair;
    const void *owner = nullptr;            // identity of the socket, never dereferenced
    std::shared_ptr<counters> counts = {};  // null: nothing is counted
    std::uint64_t send_octets = 0;
    std::uint64_t receive_octets = 0;
};

class inproc_names {
public:
    inproc_names(std::shared_ptr<chunk_pool> pool, const batching &sizes)
        : pool_(std::move(pool)), sizes_(sizes) {}

    /// Publishes a name and joins all who connected to it before. address_in_use when it is taken.
    error bind(const std::string &name, const inproc_side &self);
    /// Takes a name of `owner`'s back. no_entry when it has none of that name.
    error unbind(const std::string &name, const void *owner) noexcept;
    /// Makes a pipe to whoever is, or will be, bound to the name; `out` is the connecting socket's
    /// end, its events set.
    error connect(const std::string &name, const inproc_side &self, pipe_end_ptr &out);
    /// Makes a pipe to the socket that is bound to the name now, for somebody who is no socket: the
    /// end that is returned is his, its events set. Null when nobody is bound, or one whose type
    /// does not fit. Throws bad_alloc.
    struct way {
        pipe_end_ptr pipe;
        std::shared_ptr<mailbox> inbox;  // of the socket; the pipe can be withdrawn from it
    };
    way connect_to_bound(const std::string &name, std::shared_ptr<pipe_events> events,
                         bool (*fits)(socket_type));
    /// Drops the connects to a name that were taken back before anybody bound it, and brought no
    /// message.
    void forget_closed(const std::string &name) noexcept;
    /// The socket has closed its pipes: its names go, and its unanswered connects that brought no
    /// message.
    void forget(const void *owner, time_point now) noexcept;
    /// Drops the messages of closed sockets that need not wait any longer, as ZMQ_LINGER said.
    void drop_overdue(time_point now) noexcept;
    /// The number of unanswered connects of closed sockets there are. Without the lock.
    std::size_t left_behind() const noexcept { return left_behind_.load(std::memory_order_relaxed); }

private:
    struct waiting {
        inproc_side side;
        pipe_end_ptr near;
        pipe_end_ptr far;
        time_point lingers_until = time_point::max();  // once its socket has closed
    };
    using waiting_list = std::multimap<std::string, waiting>;

    bool join(const inproc_side &bound, const waiting &who);
    waiting_list::iterator take_away(waiting_list::iterator what) noexcept;
    static void count_lost(const waiting &what) noexcept;

    std::shared_ptr<chunk_pool> pool_;
    const batching sizes_;
    std::mutex mutex_;  // guards the rest
    std::map<std::string, inproc_side> bound_;
    waiting_list waiting_;
    std::atomic<std::size_t> left_behind_{0};
};

}  // namespace zlink
