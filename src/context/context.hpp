// The composition root: I/O threads, limits, the sockets that live in it, inproc names, and an end
// that never hangs by itself.
//
// Threads:  all functions from any thread, except that a socket's functions belong to its own.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/io_tally.hpp"
#include "core/log_listener.hpp"
#include "core/waiter.hpp"
#include "socket/socket.hpp"

namespace zlink {

/// Options of a context, numbered as in zmq.h. Two share a number: one is only read, the other only
/// written.
namespace context_option {
constexpr int io_threads = 1;
constexpr int max_sockets = 2;
constexpr int socket_limit = 3;
constexpr int thread_priority = 3;
constexpr int thread_sched_policy = 4;
constexpr int max_msgsz = 5;
constexpr int msg_t_size = 6;
constexpr int thread_affinity_cpu_add = 7;
constexpr int thread_affinity_cpu_remove = 8;
constexpr int thread_name_prefix = 9;
constexpr int zero_copy_recv = 10;
constexpr int ipv6 = 42;
constexpr int blocky = 70;
}  // namespace context_option

/// A socket, and those it talks to.
struct socket_and_peers {
    std::uint64_t number = 0;  // of the socket, in this process
    std::string name;
    socket_type type{};
    std::vector<peer_view> peers;
    std::vector<departure> gone;
};

/// All that a context holds beside its sockets, and that its I/O threads have done.
struct context_numbers {
    io_thread_numbers all;    // of the threads
    std::size_t threads = 0;  // there are
    std::uint64_t descriptors = 0;
    std::uint64_t spare_octets = 0;  // chunks that are kept to be used again
    std::uint64_t used_octets = 0;   // chunks that somebody has
};

/// The part of the sockets that have no line of their own.
struct memory_of_looks {
    std::mutex mutex;  // held for a look; guards the rest
    stats most;        // what was shown of them last
};

class context {
public:
    /// Throws bad_alloc.
    static std::shared_ptr<context> make();
    virtual ~context() = default;

    /// Octets of this process that others see, too: what the two sides of ipc share.
    static std::size_t shared_octets() noexcept;

    /// Has a function told what is logged, as event_log does.
    virtual error set_log(log_listener::function what, void *arg, log_level level) noexcept = 0;

    /// ZMQ_IO_THREADS and so on; invalid for an unknown option or a value out of range.
    virtual error set_option(int number, const void *value, std::size_t size) = 0;
    virtual error get_option(int number, void *value, std::size_t *size) = 0;

    /// Makes a socket (a ZMQ_ type number). The first one starts the I/O threads. invalid,
    /// too_many_files, terminated, or what kept a thread from starting.
    virtual error make_socket(int type, std::unique_ptr<socket> &out) = 0;
    /// Closes a socket made here and destroys it.
    virtual void close_socket(std::unique_ptr<socket> what) noexcept = 0;

    /// Counts the contexts of this process, from 1 on.
    virtual std::uint64_t number() const noexcept = 0;
    /// The deeds of all sockets so far, those that are closed included, and what they hold now.
    virtual stats get_stats() noexcept = 0;
    /// Does get_stats(), and then shows each open socket, which is not closed meanwhile, with its
    /// own part; what that has done while this was read is in its part alone. The visitor may
    /// throw, and calls nothing of this context. Throws bad_alloc.
    virtual stats visit_sockets(const std::function<void(const socket &, const stats &)> &visitor) = 0;
    virtual context_numbers numbers() noexcept = 0;
    virtual io_thread_numbers numbers_of_thread(std::size_t index) noexcept = 0;
    /// Adds all open sockets with their peers. Waits for the I/O threads, for so long at most:
    /// timed_out, with what has been heard by then, of those that do not hang all of it. Not from
    /// their threads. Throws bad_alloc.
    virtual error list_all_peers(std::vector<socket_and_peers> &to, duration patience) = 0;

    /// Every call on a socket of this context fails with terminated from now on. Does not wait.
    virtual void shutdown() noexcept = 0;
    /// shutdown(), then blocks until all sockets are closed and all sessions have lingered.
    /// interrupted when a signal was handled: call again. After none the context may be destroyed.
    /// A thread that waits here may be cancelled, which is as if it had not called.
    virtual error terminate() = 0;

    /// Whether a policy rules the endpoints of contexts that are made now: none and true or false,
    /// or not_permitted where there is one that cannot be used, so that every bind and connect
    /// fails. Waits for the disk. Throws bad_alloc.
    static error has_policy(bool &is_there);

    /// Looks at the numbers keep this from one to the next; the context does not use it.
    memory_of_looks &looks() noexcept { return looks_; }

    virtual waiter &blocking() noexcept = 0;
    virtual const clock_source &clock() const noexcept = 0;

private:
    memory_of_looks looks_;
};

}  // namespace zlink
