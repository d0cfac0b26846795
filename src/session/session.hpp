// Our memory of one peer: joins a pipe end to successive connections. Dials again after a break,
// lingers after a close.
//
// Connecting sessions own a dialer and outlive their connections; accepted ones end with theirs.
// Behind the last words of a connection its stream stays for a moment, so that the peer gets them.
// Nothing else waits for that, neither events nor the pipe nor the next attempt: only the end of
// the session, for no longer than the socket lingers.
// Threads:  the loop's thread; start() and the pipe_events from any. A session keeps itself alive
//           while work is queued.
// Owns:     one end of the pipe, the connection, the dialer.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/authenticator.hpp"
#include "core/counters.hpp"
#include "core/departures.hpp"
#include "core/events.hpp"
#include "core/random.hpp"
#include "core/standing.hpp"
#include "pipe/peer_view.hpp"
#include "session/acquaintance.hpp"
#include "session/connection.hpp"
#include "session/dialing.hpp"
#include "transport/transport.hpp"

namespace zlink {

class session;

/// The services of the context to a session. Called on the loop's thread.
class session_host {
public:
    virtual ~session_host() = default;
    /// A pipe whose other end goes to the socket; the session's end is returned. Null when the
    /// socket has closed.
    virtual pipe_end_ptr make_session_pipe(session &which) noexcept = 0;
    /// A pipe made for this session was closed and has carried no message: it need not be attached
    /// any more.
    virtual void withdraw_pipe(const pipe_end &sockets_end) noexcept = 0;
    /// The session is over; it does nothing from here on.
    virtual void on_session_end(session &which) noexcept = 0;
};

/// The things that the sessions of one endpoint on one loop have in common.
struct session_environment : connection_environment {
    /// `words` say why: of a failure, or of what is not as it should be, and keeps nobody out.
    void emit(event_kind kind, std::uint32_t value, std::string words = {}, error why = error::none,
              peer_names peer = {}, bool is_cut = false) const noexcept;

    /// For events about a stream whose peer is not known any better.
    peer_names names_of(const stream &bytes) const noexcept;

    std::shared_ptr<event_sink> events;
    std::shared_ptr<departures> gone;  // null: nobody asks who went
    std::shared_ptr<session_host> host;
    random_source *random;
    authenticator *judges = nullptr;              // null: nobody can be asked
    std::shared_ptr<authenticator> policy_judge;  // the one above, where the endpoint has its own
    std::string endpoint;  // as bound or connected, for events and for the socket to find its pipes
    std::string address;   // without its scheme
    bool is_connecting = false;
    // Asked for each connection; null: nothing rules the endpoint.
    std::shared_ptr<standing> permission;
};
using session_environment_ptr = std::shared_ptr<const session_environment>;

class session final : public pipe_events,
                      public std::enable_shared_from_this<session>,
                      private loop_task,
                      private connection_host,
                      private parting_events {
public:
    /// A session that dials the address of its environment with `kind`. `pipe`, whose events the
    /// caller leads to the session, may be null: then each connection gets its own (ZMQ_IMMEDIATE).
    static std::shared_ptr<session> connecting(session_environment_ptr environment, const transport &kind,
                                               pipe_end_ptr pipe);
    /// A session of an accepted stream.
    static std::shared_ptr<session> accepted(session_environment_ptr environment,
                                             std::unique_ptr<stream> bytes);
    ~session() override;

    /// Begins; any thread.
    error start() noexcept;
    /// Ends a session that has no pipe (yet); one that has hears of the end through it. Once the
    /// loop has run what was posted before, no further pipe comes of it. Any thread. A session that
    /// was disconnected dials no more, where reconnect_stop says so. True the first time.
    enum class why_stopped : std::uint8_t { not_at_all, closed, disconnected };
    bool stop(why_stopped why = why_stopped::closed) noexcept;
    /// stop(), of a socket that lingers so long at most, in milliseconds, -1 for ever: also where a
    /// connection was ended before, in band.
    void stop_within(int linger_ms) noexcept;
    /// The permission may have been taken back: then a connection ends, and no other comes about.
    /// Any thread.
    void look_at_permission() noexcept { ask(wish_permission); }
    /// Ends the connection, as if it had broken, for a reason that is told. Any thread.
    void cut(cut_reason why) noexcept {
        asked_.cut_for.store(why, std::memory_order_relaxed);
        ask(wish_cut);
    }
    /// Tells sessions of the process apart.
    std::uint64_t number() const noexcept { return number_; }
    bool is_stopping() const noexcept { return asked_.stopped() != why_stopped::not_at_all; }

    /// Adds itself, unless it is over. The loop's thread. Throws bad_alloc.
    void describe(std::vector<peer_view> &to);
    const session_environment_ptr &environment() const noexcept { return environment_; }
    // Made by connecting() and accepted() only.
    class made_here {
        friend class session;
        explicit made_here() = default;
    };
    session(made_here, session_environment_ptr environment);

    bool is_connecting() const noexcept { return dialing_.is_used(); }

    void on_readable(pipe_end &end) noexcept override;
    void on_writable(pipe_end &end) noexcept override;
    void on_closed(pipe_end &end) noexcept override;
    void on_cut(pipe_end &, cut_reason why) noexcept override { cut(why); }
    void on_slow(pipe_end &) noexcept override { ask(wish_slow); }

    /// Bookkeeping of who holds the session, which never looks at it.
    std::size_t held_at = 0;

private:
    enum wish : unsigned {
        wish_start = 1,
        wish_work = 2,
        wish_closed = 4,
        wish_broken = 8,
        wish_stop = 16,
        wish_drained = 32,
        wish_parted = 64,
        wish_verdict = 128,
        wish_permission = 256,
        wish_cut = 512,
        wish_slow = 1024
    };
    /// Each follows the one before. Only a pipe that the socket has closed alone leads back: it
    /// wants another peer.
    enum class phase : std::uint8_t {
        open,
        lingering,  // the socket has closed the pipe: what it sent before may still go out
        parting,    // everything is written: the peer is to read it and close
        over
    };
    /// Nobody takes what arrives any more, and the end is near.
    bool is_closing() const noexcept { return phase_ == phase::lingering || phase_ == phase::parting; }

    struct look_task final : loop_task {
        void run() noexcept override;
        std::shared_ptr<session> keep;
    };

    /// The demands of other threads, written by any of them.
    struct demands {
        why_stopped stopped() const noexcept { return stop.load(std::memory_order_relaxed); }
        /// A reason that says more takes the place of one that says less. Returns the one before.
        why_stopped stop_for(why_stopped why) noexcept;

        std::atomic<unsigned> wishes{0};
        std::atomic<why_stopped> stop{why_stopped::not_at_all};
        std::atomic<cut_reason> cut_for{cut_reason::asked_for};
        std::atomic<int> most_linger_ms{-1};  // -1: no limit
    };

    void ask(unsigned wishes) noexcept;
    void run() noexcept override;

    pipe_end_ptr on_established(connection &which) noexcept override;
    void tell_handshake() noexcept override;
    void on_broken(connection &which, const break_reason &why) noexcept override;
    void authenticate(connection &which) noexcept override;
    void take_verdict() noexcept;
    void on_drained(connection &which) noexcept override;
    void on_parted() noexcept override { ask(wish_parted); }
    void want_look() noexcept override;
    void want_round() noexcept override { ask(wish_work); }

    void begin() noexcept;
    void dial() noexcept;
    bool is_permitted(std::string &why) const noexcept;
    void end_if_forbidden() noexcept;
    void break_cut_connection() noexcept;
    void on_dialed(std::unique_ptr<stream> bytes, error failure) noexcept;
    void begin_connection(std::unique_ptr<stream> bytes, bool is_server) noexcept;
    bool describe_peer(connection &which) const noexcept;
    peer_names names_of_peer() const;
    peer_names names_for_event() const noexcept;
    void watch_queue() noexcept;
    void look_at_queue() noexcept;
    void tell_slow() noexcept;
    void after_break() noexcept;
    bool make_retry_timer() noexcept;
    void retry_later(std::string words = {}, error why = error::none) noexcept;
    void retry(std::string words, error why, counter what, bool was_refused) noexcept;
    bool has_given_up() const noexcept;
    void say_gone(bool keeps_pipe, bool stops_now) noexcept;
    void leave_message(const std::string &body) noexcept;
    bool dials_no_more() const noexcept;
    using continuation = void (session::*)() noexcept;
    bool let_go(continuation rest) noexcept;
    void drop_connection() noexcept;
    void begin_parting() noexcept;
    bool finish_parting() noexcept;
    void close_pipe() noexcept;
    void begin_linger() noexcept;
    bool end_after(int linger_ms) noexcept;
    bool may_wait() noexcept;
    void shorten_linger() noexcept;
    void end_if_lingered() noexcept;
    bool leave_time_to_read() noexcept;
    void on_parting_time() noexcept;
    void end_pipe() noexcept;
    void end() noexcept;
    void emit_reason(std::string words, error why) noexcept;
    void emit_break() noexcept;
    void note_break(const std::string &words) const noexcept;
    void note_departure(counter why, const std::string &words, bool was_established) const noexcept;
    void count_own_end() const noexcept;
    counter counter_of_own_end() const noexcept;
    std::string words_of_break() const;
    void emit_failed_handshake(std::string words, error why) noexcept;

    const std::uint64_t number_;
    const session_environment_ptr environment_;
    std::unique_ptr<stream> first_stream_;
    pipe_end_ptr pipe_;
    std::unique_ptr<connection> connection_;
    std::unique_ptr<authentication> question_;  // about the peer of the connection
    std::shared_ptr<permit> permit_;            // of that peer, once it has one
    std::unique_ptr<parting> parting_;          // of the last one that has said last words
    dialing dialing_;                           // of connecting sessions
    /// The waits of one that ends.
    struct last_waits {
        std::unique_ptr<timer> linger;
        std::unique_ptr<timer> parting;
        std::size_t unconfirmed = SIZE_MAX;  // octets, when it was parting and looked last
        time_point parting_ends;             // unless the peer goes on reading
        std::chrono::milliseconds parting_look{};
    };
    std::unique_ptr<last_waits> last_waits_;
    verdict::kind unasked_ =
        verdict::kind::no_handler;  // what stands for the answer where there is no question
    /// For ZLINK_SLOW_PEER_AFTER.
    struct queue_watch {
        std::unique_ptr<timer> next_look;
        std::optional<time_point> full_since;
        std::uint64_t full_up_to = 0;  // messages published then: once they are taken it was empty
    };
    std::unique_ptr<queue_watch> queue_watch_;
    break_reason reason_;
    int descriptor_ = -1;
    time_point ready_since_{};  // of the connection, once it is established
    web_memory web_memory_;
    acquaintance acquaintance_;
    phase phase_ = phase::open;
    bool is_broken_ = false;       // the connection, or it was not made
    continuation rest_ = nullptr;  // of an end, when other threads have left the connection

    demands asked_;
    std::shared_ptr<session> keep_;  // set by whoever makes the wishes non-zero, taken by run()
    look_task look_;
};

}  // namespace zlink
