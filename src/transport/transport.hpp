// Contract of a way to move bytes: streams, and how they come to be by dialing and listening.
//
// Readiness style: wait_*() says when, try_*() does the bytes at once. Asio stays inside the
//                  implementations.
// Threads:  everything on the thread of the loop given at construction, except where a function
//           says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <sys/uio.h>

#include "core/authenticator.hpp"
#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/tuning.hpp"
#include "core/web_place.hpp"
#include "reactor/loop.hpp"

namespace zlink {

struct io_result {
    std::size_t octets = 0;  // moved
    error status = error::
        // Again, not with octets: not ready; connection_reset: end of stream; busy; or the errno.
        none;
    bool is_end = false;  // of a stream that its peer has ended in good order
};

/// The calls of a stream to its owner, on the loop's thread. Never from inside a call of the owner
/// into the stream.
class stream_events {
public:
    virtual ~stream_events() = default;
    virtual void on_stream_readable() noexcept = 0;
    virtual void on_stream_writable() noexcept = 0;
};

/// `terminated` from any of these: there is no stream of this kind any more in this process. A
/// caller that dials does not try again.
class stream {
public:
    /// Closes. No callback comes afterwards.
    virtual ~stream() = default;
    /// Must be set before the first wait. Events that are set later hear of the waits that are
    /// pending.
    virtual void set_events(stream_events *events) noexcept = 0;
    /// Goes on with the stream's own handshake, before anything is read or written: none once it is
    /// over, again while it waits for the peer (wait_readable() says when to go on), or why it
    /// failed.
    virtual error shake_hands() noexcept { return error::none; }
    /// Whether that takes long. Then the stream does it by itself, in its share of the loop's time,
    /// from the first wait on: on_stream_readable() comes when it is over.
    virtual bool shakes_hands_by_itself() const noexcept { return false; }
    /// Once, when it has shaken hands, before anything is read or written. `out`: what the peer has
    /// shown, where somebody is to be asked by that whether it may come in.
    virtual error introduce(std::optional<credentials> &out) noexcept {
        (void)out;
        return error::none;
    }
    /// One non-blocking read into `ranges`, which have room. After a short read the caller waits
    /// instead of reading again: most often the stream is drained, and if not, the wait ends at
    /// once. A caller that does not wait reads until there is nothing.
    virtual io_result try_read(std::span<const iovec> ranges) noexcept = 0;
    /// One non-blocking gathered write. After a short one the next begins with the octets that were
    /// left. busy: it would take more, but another thread is reading, or wants to. It is to be
    /// tried again in a moment: room is of no use to wait for. busy and failures may come with
    /// octets, which are written.
    virtual io_result try_write(std::span<const iovec> ranges) noexcept = 0;
    /// From now on what is written takes long to make, as what is sealed does: there is to be room
    /// for more of it, so that neither side waits for the other. Before anything is written by
    /// another thread than the loop's.
    virtual void expect_sealed_bodies() noexcept {}
    /// Octets written that the peer's system has not confirmed: closing a stream while input
    /// arrives loses them. 0 where what is written is with the peer at once.
    virtual std::size_t unconfirmed() noexcept = 0;
    /// Nothing more will be written: says so to the peer, which reads the end of the stream behind
    /// what is still on its way. False when that cannot be done.
    virtual bool finish_writing() noexcept = 0;
    /// Whether it has failed, and has told the peer why: those are last words, too.
    /// finish_writing() can follow.
    virtual bool has_said_why() const noexcept { return false; }
    /// After finish_writing(): the stream within, for who only waits for its end; its octets mean
    /// nothing, and this one can only be destroyed. Null where there is none: this one will do.
    virtual std::unique_ptr<stream> release_inner() noexcept { return nullptr; }
    /// Whether the system has all that was written: closing a stream before loses the rest.
    /// on_stream_writable() comes when it has.
    virtual bool is_flushed() const noexcept { return true; }
    /// Whether a read finds octets that the descriptor does not show. Only after a read that filled
    /// its ranges. Called by the thread that reads.
    virtual bool holds_input() const noexcept { return false; }
    /// Whether a write that found the stream full goes on when there is input, and room is of no
    /// use before. wait_writable() waits for what it takes. Any thread.
    virtual bool awaits_input() const noexcept { return false; }
    /// Says of a large body, read into memory that begins at `body`, whether that is slow. Then it
    /// is read by way of other memory, and the answer is how many octets before `by`, less than a
    /// page, a read has to begin there that goes on at `next`. Called by the thread that reads.
    virtual std::optional<std::size_t> way_round(const void *body, const void *next,
                                                 const void *by) const noexcept {
        (void)body, (void)next, (void)by;
        return {};
    }
    /// Asks for one on_stream_readable() when a read would not fail with again, or a little early
    /// where nobody has read to the end. Asking twice is asking once.
    virtual void wait_readable() noexcept = 0;
    virtual void wait_writable() noexcept = 0;
    /// Gives the stream out of the loop's hands: until take_back() another thread may wait for its
    /// descriptor and read, and nothing may be waited for here. False when this stream cannot be
    /// leased.
    virtual bool lease_out() noexcept { return false; }
    /// On failure the stream is of no more use.
    virtual error take_back() noexcept { return error::none; }
    /// The descriptor, for events and "__fd"; -1 where there is none.
    virtual int descriptor() const noexcept = 0;
    /// The value of "Peer-Address": the numeric address of the peer without the port; empty for
    /// ipc.
    virtual std::string peer_address() const = 0;
    /// The value of "User-Id": who the peer has proven to be; empty where it has proven nothing.
    virtual std::string user_id() const { return {}; }
    /// The version of TLS, as OpenSSL calls it; empty where there is none, or its handshake is not
    /// over. The text stays.
    virtual const char *tls_version() const noexcept { return ""; }
    /// Why it has failed, in words for a person, where the error does not say it all.
    virtual std::string reason() const { return {}; }
    /// "tcp://127.0.0.1:5555" of this and the far side.
    virtual std::string local_endpoint() const = 0;
    virtual std::string remote_endpoint() const = 0;
};

/// The end of one attempt: a stream, or why there is none.
using dial_handler = std::function<void(std::unique_ptr<stream> connected, error failure)>;

class dialer {
public:
    /// Gives the attempt up; the handler is not called afterwards.
    virtual ~dialer() = default;
    /// Starts one attempt: resolves the address anew, connects. Calls `handler` once, never from
    /// inside this call.
    virtual void dial(dial_handler handler) noexcept = 0;
    /// Whether it is worth keeping for the next attempt: a new one would begin from nothing.
    virtual bool is_for_more_attempts() const noexcept { return false; }
    /// Has `pending` called when an attempt is under way that takes time: monitors are told. To be
    /// called before dial().
    virtual void report_pending(std::function<void()> pending) noexcept { (void)pending; }
    /// The descriptor of the attempt, for events, also after it has failed; -1 when it did not come
    /// that far.
    virtual int descriptor() const noexcept { return -1; }
};

/// Makes the stream of a connection that was accepted, or says why not: connection_refused when a
/// filter keeps the peer out. Called once at most, on the thread of `io`, where the stream lives,
/// which need not be the listener's. Who drops it closes the connection. Any thread may. Throws
/// std::bad_alloc.
using stream_maker = std::function<error(loop &io, std::unique_ptr<stream> &out)>;

/// accepted: the way to a stream and none, or null and why an accept failed (the listener goes on
/// by itself, after a pause when descriptors or memory ran out).
using accept_handler = std::function<void(stream_maker accepted, error failure)>;

class listener {
public:
    /// The most connections that it accepts in one round of its loop.
    static constexpr int most_connections_per_round = 64;

    /// Stops listening and frees the address (removes the socket file of ipc). On the loop's thread
    /// if started, any thread otherwise.
    virtual ~listener() = default;
    /// Begins to accept on the loop's thread.
    virtual void start(accept_handler handler) noexcept = 0;
    /// There may be descriptors again: ends a pause that the listener makes for want of them. On
    /// the loop's thread.
    virtual void go_on() noexcept = 0;
    /// The endpoint with wild cards resolved, as ZMQ_LAST_ENDPOINT gives it.
    virtual const std::string &endpoint() const noexcept = 0;
    virtual int descriptor() const noexcept = 0;
};

/// One scheme.
class transport {
public:
    virtual ~transport() = default;
    virtual const char *scheme() const noexcept = 0;
    /// Checks an address (what follows "scheme://") without touching the network: invalid,
    /// name_too_long...
    virtual error check_connect(const std::string &address, const settings &options) const noexcept = 0;
    /// Whether a listener whose endpoint() is `endpoint` may have been bound to this address,
    /// however it was written.
    virtual bool may_be_bound_to(const std::string &address, const std::string &endpoint) const noexcept {
        (void)address, (void)endpoint;
        return false;
    }
    /// The endpoint that a connection to this address goes by.
    virtual std::string endpoint_for(const std::string &address) const {
        return std::string(scheme()) + "://" + address;
    }
    /// The place on a web server of the sockets of this address; none where there is no web server.
    virtual std::optional<web_place> place_of(const std::string &address) const {
        (void)address;
        return {};
    }
    /// The sizes that a connection reads and writes by, for a socket with these options.
    virtual batching sizes(const tuning &knobs, const settings &options) const noexcept;
    /// Any thread. The dialer lives on `io`'s thread from then on. `options` outlive it.
    virtual error make_dialer(const std::string &address, const settings &options, const batching &sizes,
                              loop &io, std::unique_ptr<dialer> &out) const noexcept = 0;
    /// Binds and listens at once, on the caller's thread (so that bind errors are the caller's);
    /// accepting starts later.
    virtual error make_listener(const std::string &address, const settings &options, const tuning &knobs,
                                loop &io, std::unique_ptr<listener> &out) const noexcept = 0;
};

// The schemes, each in its own file.
const transport &tcp() noexcept;
const transport &ipc() noexcept;
const transport &ws() noexcept;
const transport &tls() noexcept;  // where it is built, and so is wss
const transport &wss() noexcept;
// They do as tls and wss, under the names that programs without TLS give.
const transport &tcp_inside_tls() noexcept;
const transport &ws_inside_tls() noexcept;

/// The transport of a scheme that is built (core/schemes.hpp); null when there is none.
const transport *find_transport(std::string_view scheme) noexcept;
/// One that goes by this scheme, and by TLS whatever its name; null when there is none.
const transport *find_transport_inside_tls(std::string_view scheme) noexcept;

}  // namespace zlink
