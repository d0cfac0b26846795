// Contract: what a socket type means. One pattern per type turns sends and receives into reads and
//           writes of pipes.
//
// A pattern never blocks and never waits: it answers `error::again`, and `socket` does the waiting.
// Threads:  all functions on the socket's application thread (the one that holds the socket at the
//           moment).
#pragma once

#include <memory>
#include <string_view>

#include "core/counters.hpp"
#include "core/error.hpp"
#include "core/message.hpp"
#include "core/random.hpp"
#include "core/settings.hpp"
#include "core/subscription_set.hpp"
#include "pipe/copied_body.hpp"
#include "pipe/pipe.hpp"
#include "socket/direct_way.hpp"

namespace zlink {

/// One frame to send. When `owner` is set (or `is_constant`), a large body is referenced instead of
/// copied; one that is lent is kept until it has gone out, copied or not, except by a conflating
/// pipe.
struct outgoing {
    byte_span body;
    bool more = false;
    block *owner = nullptr;
    bool is_constant = false;
    // The application's own memory: it waits to hear when the body has gone out.
    bool is_lent = false;
};

/// Whether a frame's body goes with its owner; `threshold`: of the pipe, or of a fan-out.
inline bool travels_by_reference(const outgoing &frame, std::size_t threshold) noexcept {
    return __builtin_expect(frame.is_lent, 0) ||
           (__builtin_expect(frame.body.size() >= threshold, 0) && (frame.owner || frame.is_constant));
}

/// Writes one frame of the application's to a pipe: by reference when large and possible, else by
/// copy.
inline error write_frame(sender &pipe, const outgoing &frame) noexcept {
    const std::uint8_t flags = frame.more ? frame_flag::more : 0;
    if (travels_by_reference(frame, pipe.reference_threshold()))
        return pipe.write_external(flags, block_ref::share(frame.owner), frame.body);
    if (__builtin_expect(frame.body.size() >= pipe_end::written_in_place_from, 0) && !frame.more)
        return pipe.write_last_large(frame.body);
    count_copied_body(pipe, frame.body.size());
    return pipe.write(flags, frame.body);
}

/// The questions that a pattern may ask of the socket around it.
class pattern_host {
public:
    virtual ~pattern_host() = default;
    /// The pattern has forgotten this pipe: it ended, or the pattern refuses it. The socket closes
    /// and drops it.
    virtual void finished(pipe_end &pipe) noexcept = 0;
    /// Memory is short, and the pattern has left something undone: the socket is to call
    /// on_readable() for every pipe at the beginning of its next call.
    virtual void rescan_pipes_later() noexcept = 0;
    /// There is work left that no call should do all at once: the socket is to call go_on() once it
    /// has taken in its commands, at the latest at the beginning of its next call. Until then it
    /// does not sleep, and its descriptor says that there is something.
    virtual void go_on_later() noexcept = 0;
    /// A peer has another address from now on: what the pattern has said of a direct way for
    /// sending does not hold any more.
    virtual void leave_way_out() noexcept {}
    /// A message ends here, and nobody reads it.
    virtual void count_drop(counter why) noexcept { (void)why; }
    /// There was no room for a message to this peer, which is counted.
    virtual void tell_slow(pipe_end &pipe) noexcept { (void)pipe; }
    /// There is room at a pipe that on_writable() was called for: perhaps its peer is not slow any
    /// more.
    virtual void look_at_slow(pipe_end &pipe) noexcept { (void)pipe; }
    /// The publisher at the far end of this pipe has lost so many messages for this socket.
    virtual void tell_gap(const pipe_end &pipe, const peer_info *from, std::uint64_t lost) noexcept {
        (void)pipe, (void)from, (void)lost;
    }
    /// A peer is to go: its pipe ends behind this call.
    virtual void cut(pipe_end &pipe, cut_reason why) noexcept {
        (void)pipe;
        (void)why;
    }
};

struct pattern_environment {
    settings &options;  // the socket's own, current
    pattern_host &host;
    std::shared_ptr<chunk_pool> pool;
    random_source &random;
    std::shared_ptr<subscription_set> subscriptions;  // SUB and XSUB: shared with the sessions
    counters *counts = nullptr;                       // the socket's; null: nothing is counted
};

/// All of it, without answers of its own: a pattern around another cannot leave one out.
class pattern {
public:
    virtual ~pattern() = default;

    /// A pipe is there. `is_local`: this socket connected it. The pipe may carry an in_band::hello
    /// frame as its first one (always when the peer announces a routing id). Where it throws
    /// bad_alloc, nothing was read from the pipe: detach() follows, and the pipe may come again.
    virtual void attach(const pipe_end_ptr &pipe, bool is_local) = 0;
    /// Forget a pipe that the application disconnects. Not followed by host.finished().
    virtual void detach(pipe_end &pipe) noexcept = 0;

    // These may throw bad_alloc; on_readable() is called again, then, as after
    // rescan_pipes_later().
    virtual void on_readable(pipe_end &pipe) = 0;
    virtual void on_writable(pipe_end &pipe) = 0;
    /// The other end was closed. No more writing; the pattern reads what is left and then calls
    /// host.finished().
    virtual void on_closed(pipe_end &pipe) = 0;
    /// Does a bounded amount of what the pattern has left to be done with host.go_on_later(), and
    /// asks for it again when that was not all. May throw bad_alloc, and is called again, then.
    virtual void go_on() = 0;

    /// none, again (would wait), or the type's own failures. On failure nothing of this frame is
    /// queued.
    virtual error send(const outgoing &frame) = 0;
    /// The next frame for the application, valid until the next call on this pattern. none, again,
    /// or the type's failures.
    virtual error receive(frame_view &out) = 0;

    /// The pipe that every message comes from (goes to) as it is, until another function of the
    /// pattern is called. The socket then leaves the pattern out.
    virtual direct_way direct_input() noexcept = 0;
    virtual direct_way direct_output() noexcept = 0;
    /// The socket has left the direct way behind an address: the rest of that message is the
    /// pattern's, from (to) the same pipe. The next receive() gives, or send() gets, what stands
    /// behind the address.
    virtual void resume_input() noexcept = 0;
    virtual void resume_output() noexcept = 0;

    /// Whether a receive (send) of a first frame would succeed now. These do not arm anything.
    virtual bool has_input() = 0;
    virtual bool has_output() = 0;

    /// Whether messages without room are dropped: then no sender waits for any.
    virtual bool drops() const noexcept = 0;

    /// Arms every pipe that would have to call: drained ones for reading when `for_input`, full
    /// ones for writing when `for_output`; then heavy_fence() once, then a second look. True when
    /// something became possible meanwhile.
    virtual bool arm(bool for_input, bool for_output) = 0;

    /// ZMQ_SUBSCRIBE and ZMQ_UNSUBSCRIBE; `invalid` where the type has none.
    virtual error subscribe(byte_span topic) = 0;
    virtual error unsubscribe(byte_span topic) = 0;
    /// Whether a peer with this routing id is there, so that a connect under the same one must
    /// fail.
    virtual bool knows_peer(std::string_view routing_id) const = 0;
    /// Whether a message for the peer of this routing id would be taken now. host_unreachable,
    /// or not_supported.
    virtual error has_room_for(std::string_view routing_id, bool &out) const = 0;
    /// For zmq_getsockopt:
    /// the number of topics subscribed (ZMQ_TOPICS_COUNT), -1 where the type has none.
    virtual int topics_count() const = 0;
    /// The number of peers that subscribe to something; -1 where the type has none.
    virtual int subscribers_count() const = 0;
};

/// The answers of a type that has none of it.
class plain_pattern : public pattern {
public:
    void go_on() override {}
    direct_way direct_input() noexcept override { return {}; }
    direct_way direct_output() noexcept override { return {}; }
    void resume_input() noexcept override {}
    void resume_output() noexcept override {}
    bool drops() const noexcept override { return false; }
    error subscribe(byte_span) override { return error::invalid; }
    error unsubscribe(byte_span) override { return error::invalid; }
    bool knows_peer(std::string_view) const override { return false; }
    error has_room_for(std::string_view, bool &) const override { return error::not_supported; }
    int topics_count() const override { return -1; }
    int subscribers_count() const override { return -1; }
};

std::unique_ptr<pattern> make_pair(const pattern_environment &environment);
std::unique_ptr<pattern> make_pub(const pattern_environment &environment);
std::unique_ptr<pattern> make_xpub(const pattern_environment &environment);
std::unique_ptr<pattern> make_sub(const pattern_environment &environment);
std::unique_ptr<pattern> make_xsub(const pattern_environment &environment);
std::unique_ptr<pattern> make_req(const pattern_environment &environment);
std::unique_ptr<pattern> make_rep(const pattern_environment &environment);
std::unique_ptr<pattern> make_dealer(const pattern_environment &environment);
std::unique_ptr<pattern> make_router(const pattern_environment &environment);
std::unique_ptr<pattern> make_raw_router(const pattern_environment &environment);
std::unique_ptr<pattern> make_push(const pattern_environment &environment);
std::unique_ptr<pattern> make_pull(const pattern_environment &environment);

/// The pattern of a type, and of a raw ROUTER; null for a type that is not built.
std::unique_ptr<pattern> make_pattern(const pattern_environment &environment);

}  // namespace zlink
