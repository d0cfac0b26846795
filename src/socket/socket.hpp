// The application's half of a socket: blocking calls, options, attaching pipes, events. The pattern
// decides what is sent where; this class keeps the messages, and `one_wait` waits.
//
// Threads:  one application thread at a time (a full fence to migrate); stop() from any thread.
// Owns:     its pattern, its ends of the pipes, its mailbox together with everybody who may still
//           post to it.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/departures.hpp"
#include "core/message.hpp"
#include "core/settings.hpp"
#include "core/waiter.hpp"
#include "socket/borrower.hpp"
#include "socket/endpoint_service.hpp"
#include "socket/mailbox.hpp"
#include "socket/monitor.hpp"
#include "socket/pattern.hpp"
#include "socket/pipe_table.hpp"
#include "socket/socket_wait.hpp"
#include "zmq.h"

namespace zlink {

class level_pattern;
class room_wait;

/// The parts that a socket is made from; all outlive it.
struct socket_environment {
    endpoint_service &endpoints;
    waiter &blocking;
    const clock_source &clock;
    random_source &random;
    std::shared_ptr<chunk_pool> pool;
    std::shared_ptr<event_log> log = {};   // null: nothing is logged
    std::shared_ptr<counters> whole = {};  // counts of all sockets; null: nobody asks for them
};

// With lines of its own: where a program looks at a thousand of them in turn, a tenth of the time
// hung on where the heap had put them.
class alignas(64) socket final {
public:
    /// Null when the type is not built. Throws bad_alloc.
    static std::unique_ptr<socket> make(const settings &defaults, const socket_environment &environment);
    /// The socket that a monitor publishes on, bound to `endpoint`. Fails as bind() does. Throws
    /// bad_alloc.
    static error make_monitor(const socket_environment &environment, const std::string &endpoint,
                              std::unique_ptr<socket> &out);
    ~socket();

    // ---- messages; `flags` as in zmq.h (ZMQ_DONTWAIT, ZMQ_SNDMORE) ----
    // A message that is not at hand, or has no room, ends a thread that is to be cancelled, before
    // it waits or while it does. Nothing was sent or taken then. Nothing else is thrown.

    /// Off: who sends has other things to do than to wait for a peer that is far behind, as long as
    ///      there is room.
    void set_limits_backlog(bool on) noexcept { limits_backlog_ = on; }

    /// Sends a small message if there is nothing to decide. refused: nothing was done, and send()
    /// has to be called. sent_needs_wake: it is sent, and wake_receiver() has to be called.
    [[gnu::always_inline]] pipe_end::at_once send_at_once(byte_span body, int flags) noexcept {
        if (!pipes_.output().is_plain() || mailbox_->has_commands())
            return pipe_end::at_once::refused;
        return pipes_.output().put_at_once(body, flags & ZMQ_SNDMORE);
    }
    /// Whether the next frame may go by send_addressed_at_once(), or come by
    /// receive_addressed_at_once().
    bool sends_addressed() const noexcept { return pipes_.output().is_addressed(); }
    bool receives_addressed() const noexcept { return pipes_.input().is_addressed(); }
    /// Does send_at_once() for an address and the message behind it.
    [[gnu::always_inline]] pipe_end::at_once send_addressed_at_once(byte_span body, int flags) noexcept {
        return mailbox_->has_commands() ? pipe_end::at_once::refused
                                        : pipes_.output().put_addressed_at_once(body, flags & ZMQ_SNDMORE);
    }
    void wake_receiver() noexcept { pipes_.output().wake(); }
    [[gnu::always_inline]] error send(byte_span body, int flags) {
        const bool is_sent = !mailbox_->has_commands() && pipes_.output().put(body, flags & ZMQ_SNDMORE);
        return is_sent ? error::none : send_copy(body, flags);
    }
    error send_constant(byte_span body, int flags);
    /// On success the message is empty afterwards; on failure it is untouched.
    error send(message &what, int flags);
    /// Takes a small message of at most `capacity` octets that was seen before; it is valid until
    /// the next call on this socket. False when receive() has to be called.
    [[gnu::always_inline]] bool receive_at_once(short_frame &out, std::size_t capacity) noexcept {
        if (!pipes_.input().is_plain() || mailbox_->has_commands() ||
            !pipes_.input().take_at_once(out, capacity))
            return false;
        received_more_ = false;
        return true;
    }
    /// Does receive_at_once() for an address and the message behind it.
    [[gnu::always_inline]] bool receive_addressed_at_once(short_frame &out, std::size_t capacity) noexcept {
        bool more = false;
        if (mailbox_->has_commands() || !pipes_.input().take_addressed_at_once(out, capacity, more))
            return false;
        received_more_ = more;
        return true;
    }
    /// Copies at most `capacity` octets of the next frame; `size` gets its full size.
    [[gnu::always_inline]] error receive(void *buffer, std::size_t capacity, std::size_t &size, int flags) {
        short_frame frame;
        bool more = false;
        if (mailbox_->has_commands() || !pipes_.input().take(frame, more))
            return receive_copy(buffer, capacity, size, flags);
        received_more_ = more;
        size = frame.size;
        copy_foreign_body(static_cast<std::uint8_t *>(buffer), frame.data, std::min(capacity, frame.size));
        return error::none;
    }
    /// Replaces `out`'s content by the next frame. The content goes before a wait: who lent it may
    /// wait for it, too.
    error receive(message &out, int flags);
    /// The next frame where it lies, valid until the next call on this socket; and a frame that
    /// lies somewhere, whose `more` counts and not the flag. For those who pass frames on.
    error receive(frame_view &out, int flags) { return receive(out, flags, nullptr); }
    error send(const outgoing &frame, int flags);

    // ---- options and endpoints ----

    error set_option(int number, const void *value, std::size_t size);
    error get_option(int number, void *value, std::size_t *size);
    error bind(const char *endpoint);
    error connect(const char *endpoint);
    error unbind(const char *endpoint);
    error disconnect(const char *endpoint);
    /// Null endpoint: stops monitoring.
    error start_monitor(const char *endpoint, std::uint64_t events, int version = 1);
    /// Has the monitor tell of each peer what is queued for it and what it has brought. invalid:
    /// nobody listens for that; again: nobody is connected. Asks the I/O threads, and waits for
    /// them. Throws bad_alloc.
    error report_pipes();
    /// The events of the one peer of this routing id: ZMQ_POLLOUT where it has room.
    /// host_unreachable, or not_supported for a type that has no such thing.
    error peer_events(std::string_view routing_id, short &out);

    // ---- what is there; `one_wait` waits for it ----

    /// ZMQ_POLLIN and ZMQ_POLLOUT as they hold now, after taking in commands. terminated once the
    /// context has ended. `reads`: also from connections that are leased to this thread, for
    /// callers that do not wait. Of what is not there ZMQ_FD will tell.
    error events(short wanted, short &ready, bool reads) noexcept {
        return wait_.events(wanted, ready, reads);
    }
    /// Whether a message is there, where that is told by a look at one pipe; false where it is not.
    bool has_direct_input() noexcept { return pipes_.has_direct_input(); }
    /// Whether a message is there that is small and was seen before. Calls nothing.
    bool has_input_at_once() const noexcept {
        return pipes_.input().has_message_at_once() && !mailbox_->has_commands();
    }
    /// Arms the pipes for the wanted events. True when something is ready after all, or the context
    /// has ended.
    bool arm(short wanted) noexcept { return wait_.arm(wanted); }
    /// The level a waiter must look at, made on first use: that is when the socket is made, unless
    /// nobody ever waits for it.
    error wait_level(const wakeup *&out) noexcept { return wait_.level(out); }
    /// The descriptor that ZMQ_FD has given, if what had raised it was taken in since the last
    /// call; else -1.
    int take_raised_descriptor() noexcept { return pipes_.take_news() ? wait_.exported_descriptor() : -1; }

    // ---- steering ----

    /// Waits until `wanted` peers are there, or have subscribed to something. `again` when the time
    /// is up; -1 is without end.
    enum class readiness { peers, subscribers };
    error wait_ready(readiness what, std::size_t wanted, long timeout_ms);
    /// The fate of the messages that waited for peers when drain() was called.
    struct drained {
        std::uint64_t sent = 0;  // taken by a peer of the process, or by the system for others
        std::uint64_t left = 0;
        std::uint64_t lost = 0;  // with their peer, or to a newer one
    };
    /// Waits until all that was sent so far has gone out. `again` when the time is up; -1 is
    /// without end. Throws bad_alloc.
    error drain(long timeout_ms, drained &out);
    /// Ends the connection to a peer, by the id that list_peers() tells. no_entry when there is no
    /// such peer.
    error cut_peer(std::uint64_t id);

    waiter &blocking() const noexcept { return environment_.blocking; }
    const clock_source &clock() const noexcept { return environment_.clock; }

    // ---- life ----

    /// The context ends: every call from now on fails with terminated, and a blocked one does at
    /// once; but one that has sent its message, and waits for its stream, succeeds at once. Any
    /// thread.
    void stop() noexcept;
    /// The name that the application has given it, or else its number in the process and the
    /// endpoint of the last bind or connect. Any thread, while the socket is there.
    std::string name() const;
    /// Counts the sockets of the process, from 1 on.
    std::uint64_t number() const noexcept { return label_.number; }
    /// Adds its peers, and the addresses that it connects to. Any thread, while the socket is
    /// there. Throws bad_alloc.
    error list_peers(std::vector<peer_view> &to) const {
        list_neighbours(to);
        return environment_.endpoints.list_peers(*this, to);
    }
    /// Those of them that are sockets of this process.
    void list_neighbours(std::vector<peer_view> &to) const { pipes_.list_neighbours(to); }
    /// Adds what it holds now, and has done so far; to `counted` the part of that which is counted
    /// with all sockets. Both may be the same. Any thread, while the socket is there.
    void add_to(stats &traffic, stats &counted) const noexcept;
    /// Ends all pipes and endpoints; what was sent lingers. The socket must not be used afterwards.
    void close() noexcept;

    // ---- for the endpoint service ----

    const settings &options() const noexcept { return options_; }
    socket_type type() const noexcept { return options_.type; }
    std::shared_ptr<mailbox> inbox() const noexcept { return mailbox_; }
    std::shared_ptr<monitor> events_sink() const noexcept { return monitor_; }
    const std::shared_ptr<counters> &counts() const noexcept { return counts_; }
    /// The peers over the network that have gone, for people.
    const std::shared_ptr<departures> &gone() const noexcept { return gone_; }
    std::shared_ptr<subscription_set> subscriptions() const noexcept { return subscriptions_; }
    /// Takes a pipe into use on the calling (application) thread. Its events must already go to
    /// inbox(). Throws bad_alloc, and has closed it then.
    void attach(const pipe_end_ptr &pipe, bool is_local);
    using unread_input = pipe_table::unread_input;
    /// Ends every pipe of an endpoint, with this socket's linger. Returns how many there were.
    std::size_t detach_endpoint(const std::string &endpoint,
                                unread_input what = unread_input::dropped) noexcept;
    /// Takes ZMQ_CONNECT_ROUTING_ID, which is good for one connect.
    std::string take_connect_routing_id();

private:
    friend class one_wait;  // takes the steps of wait_

    socket(const settings &defaults, const socket_environment &environment);

    error send_copy(byte_span body, int flags);
    error receive_copy(void *buffer, std::size_t capacity, std::size_t &size, int flags);
    error receive_into(std::span<std::uint8_t> memory, frame_view &out, int flags);
    error wait_for_lagging_peer(const outgoing &frame);
    void wait_for_room(room_wait &body);
    error retry_send(const outgoing &frame, int flags);
    /// If it has to wait, or would have to, `replaced` becomes empty before.
    error receive(frame_view &out, int flags, message *replaced);
    error retry_receive(frame_view &out, int flags);
    std::size_t count_ready(readiness what) const noexcept;
    template <class Attempt>
    error wait_for_news(long timeout_ms, Attempt &&attempt, const bool &may_miss_news);
    time_point deadline_in(long timeout_ms) const noexcept;
    template <class Attempt>
    error wait_for(short wanted, int timeout_ms, Attempt &&attempt);
    /// Those that were made for event loops of the application.
    int descriptors_of_loops() const noexcept;
    error export_descriptor(int &descriptor);
    error export_level(int number, int &descriptor);
    void set_endpoint(std::string actual);
    error get_option_of_socket(int number, void *value, std::size_t *size);
    std::unique_ptr<pattern> make_pattern();
    error set_router_raw(const void *value, std::size_t size);

    settings options_;
    socket_environment environment_;
    pace pace_;  // outlives the pipes
    borrower borrower_;
    std::shared_ptr<mailbox> mailbox_;
    std::shared_ptr<monitor> monitor_;
    std::shared_ptr<subscription_set> subscriptions_;
    std::shared_ptr<counters> counts_;
    std::shared_ptr<departures> gone_;
    mutable std::mutex label_mutex_;  // guards the label
    struct {
        std::uint64_t number = 0;
        std::string given;     // ZLINK_SOCKET_NAME
        std::string endpoint;  // the last
    } label_;
    pipe_table pipes_;
    socket_wait wait_;
    std::unique_ptr<pattern> pattern_;  // goes before the pipes
    // The pattern, too, once ZLINK_EVENT_FD or ZLINK_ROOM_FD was asked for.
    level_pattern *levels_ = nullptr;
    std::string last_endpoint_;
    bool received_more_ = false;  // ZMQ_RCVMORE
    bool limits_backlog_ = true;
};

}  // namespace zlink
