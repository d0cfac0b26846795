// The driver: performs the actions of a conversation on one live stream, and moves frames between
//             the stream and a pipe.
//
// Out:      `outbound`, from the loop's thread or from that of the sender.
// In:       `inbound`, from the loop's thread or, by a lease that `lease_keeper` gives, from that
//           of the receiver. There it handles message frames only; a command, the end of the stream
//           and every failure end the lease first.
// Here:     the handshakes (the stream's own, then the conversation's), the timers, and the end.
// Judged:   where the conversation has its peer authenticated, the session finds out. What the peer
//           says meanwhile waits here, and is read as far as `most_octets_unjudged`: one that goes
//           is not kept for a handler that does not answer. Where the stream's own handshake says
//           by what it is judged, that comes first, and the conversation begins behind it.
//           ZMQ_HANDSHAKE_IVL bounds that, with all else of the handshake; whoever sets 0 there has
//           a peer wait as long as it stays and no answer comes, as with libzmq.
// In turn:  where the conversation says that a step of its handshake is costly, that is put into
//           the loop's list of what is, and what the peer says meanwhile waits as it does for a
//           verdict. A peer that goes is noticed, and nothing is spent on it.
// Last:     the last words of the conversation (its answer to a Close) go out behind the frame
//           under way. Nothing is read meanwhile, and a peer that does not go on reading is given
//           up after `longest_parting`. Then the stream outlives the connection, until the peer has
//           them: session/parting.hpp.
// Breaks:   when writing fails, what the peer sent before it went is still read and delivered, also
//           beyond the mark. Where earlier connections have brought much beyond it already, the
//           rest waits for the receiver, and so does the end of the connection.
// Threads:  the loop's, but for what is said in `connection_port`.
#pragma once

#include <memory>

#include "pipe/pipe.hpp"
#include "session/acquaintance.hpp"
#include "session/connection_environment.hpp"
#include "session/inbound.hpp"
#include "session/lease_keeper.hpp"
#include "session/outbound.hpp"
#include "session/parting.hpp"
#include "transport/transport.hpp"
#include "zmtp/conversation.hpp"

namespace zlink {

class connection;

class connection_host {
public:
    virtual ~connection_host() = default;
    /// The handshake is over. Returns the pipe to serve; null ends the connection.
    virtual pipe_end_ptr on_established(connection &which) noexcept = 0;
    /// Tell that the handshake has succeeded. The socket finds the peer in the pipe, the routing id
    /// in front, so that whoever hears of it can send to it; or the connection ends next.
    virtual void tell_handshake() noexcept = 0;
    /// The connection is dead; it calls nobody afterwards. Destroy it later, not from inside this
    /// call.
    virtual void on_broken(connection &which, const break_reason &why) noexcept = 0;
    /// Finds out whether the peer may come in: on_verdict() says so later, not from inside this
    /// call.
    virtual void authenticate(connection &which) noexcept = 0;
    /// Everything the pipe held has been written.
    virtual void on_drained(connection &which) noexcept = 0;
    /// Call look() before the loop sleeps, behind its fence.
    virtual void want_look() noexcept = 0;
    /// Call work() in the loop's next round.
    virtual void want_round() noexcept = 0;
};

/// Octets. An honest peer waits behind its greeting, and a READY or a request of HTTP.
constexpr std::size_t most_octets_unjudged = 16 * 1024;

/// The knowledge of a session from the connections before.
struct connection_past {
    web_memory *web = nullptr;  // of streams that begin as a web server's, where others follow
    acquaintance peers;
};

class connection final : private stream_events,
                         private connection_port,
                         private lease_events,
                         private costly_work {
public:
    connection(const connection_environment &environment, std::unique_ptr<stream> bytes, bool is_server,
               connection_host &host, const connection_past &past = {});
    ~connection() override;

    void start() noexcept;
    /// The pipe was there before the connection: subscriptions are sent from the set, not from the
    /// pipe.
    void replay_subscriptions() noexcept { replays_ = true; }
    /// Goes on with whatever can be done: after the pipe became readable or writable, or
    /// want_round().
    void work() noexcept;
    void look() noexcept;
    /// Nobody takes what arrives any more: it is read, for the sake of commands and the end of the
    /// stream, and thrown away.
    void discard_input() noexcept;
    /// To be called once everything is written: says the last words of the conversation. True when
    /// they are written, too, or there are none.
    bool take_leave() noexcept;
    /// Whether the peer is likely to take its leave, too.
    bool awaits_leave() const noexcept { return leave_ == leave::in_words; }
    /// To be called once everything is written and nobody takes what arrives: says so to the peer,
    /// so that it reads to the end before the stream is closed under it. False when there is no
    /// need to wait for that.
    bool finish_writing() noexcept;
    /// Octets written that may be lost if the stream is closed now.
    std::size_t unconfirmed() noexcept { return stream_->unconfirmed(); }
    /// Ends: no other thread reads or writes from here on. False while one does: it has work asked
    /// for when it leaves, then this is to be called again. Once it is true only release_stream()
    /// and destruction may follow, and nothing else may come before that. `drops_unread`: reads
    /// what lies there, because a stream closed with unread input may lose what was written last.
    [[nodiscard]] bool let_go(bool drops_unread) noexcept;
    /// Gives the stream away where something was said last, by the conversation or by the stream
    /// itself, that the peer may not have yet: it is told that nothing follows. Null elsewhere.
    /// Only destruction may follow.
    std::unique_ptr<stream> release_stream() noexcept;
    /// Whether the pipe got a message of the peer's application.
    bool has_delivered() noexcept { return lease_.reading() && lease_.reading()->has_delivered(); }
    bool is_established() const noexcept { return peer_->is_established(); }
    /// The proof that the peer is to be judged by, after authenticate() of the host. Throws
    /// bad_alloc.
    credentials shown() const;
    /// The handshake goes on.
    void on_verdict(const verdict &answer) noexcept;
    /// The conversation is over, and its last words are still being written.
    bool has_words_left() const noexcept { return state_ == state::saying_last_words; }
    /// Recalls the lease and tells the host what has happened. True once nothing is left to write,
    /// and no other thread reads.
    bool drain() noexcept;
    stream &bytes() noexcept { return *stream_; }
    /// Why it has ended, in words for a person, where more can be said than the error does.
    std::string reason() const;
    peer_info &info() noexcept { return peer_->info(); }
    heartbeat_answers answers() const noexcept { return peer_->answers(); }

private:
    enum class state : std::uint8_t {
        shaking_hands,  // the stream does
        // It has, and until there is a verdict on what the peer has shown nothing else begins.
        at_door,
        live,
        judged,  // until there is a verdict
        queued,  // until it is its turn to spend the loop's time
        saying_last_words,
        broken,  // to be reported, once nobody writes any more
        over     // reported, or let go
    };
    /// The last words of the conversation to its peer, where it is this side that ends.
    enum class leave : std::uint8_t {
        not_taken,
        silent,   // it had nothing to say, or no way to
        in_words  // the peer may have some, too
    };
    /// The handshake waits for somebody, and what the peer says waits, too.
    bool is_put_off() const noexcept {
        return state_ == state::at_door || state_ == state::judged || state_ == state::queued;
    }

    void open() noexcept;
    void await_handshake_of_stream() noexcept;
    void receive_guest() noexcept;
    void begin(byte_span rest = {}) noexcept;

    void on_stream_readable() noexcept override;
    void on_stream_writable() noexcept override;
    void on_time() noexcept;
    void look_before_verdict(inbound &in) noexcept;
    void on_time_of_handshake() noexcept;

    written write_now(writing &turn, occasion when) noexcept override { return out_.write_now(turn, when); }
    void copy_rest() noexcept override { out_.copy_rest(); }
    bool is_full() const noexcept override { return out_.is_full(); }
    bool is_held_up() const noexcept override { return out_.is_held_up(); }
    bool awaits_input() const noexcept override { return stream_->awaits_input(); }
    int descriptor() const noexcept override { return stream_->descriptor(); }
    reading_half &leased_half() noexcept override { return lease_.leased_half(); }

    void on_reading_back(inbound &in, error failure) noexcept override;
    void on_lease_over() noexcept override { report(); }
    void tend_lease() noexcept;
    bool may_grant(inbound &in) noexcept;

    void write_at(time_point when) noexcept;
    void write() noexcept;

    void read(inbound &in) noexcept;
    inbound::found read_once(inbound &in) noexcept;
    void read_to_the_end(inbound &in) noexcept;
    void read_what_is_left() noexcept;
    void resume_reading(inbound &in) noexcept;
    void note_reading(inbound &in) noexcept;
    void take_handshake(inbound &in, byte_span octets) noexcept;
    void follow_handshake(inbound &in, const conversation::action &step, byte_span rest) noexcept;
    void await_verdict(byte_span rest) noexcept;
    void await_turn(byte_span rest, bool is_of_stranger) noexcept;
    bool put_off(state why, byte_span rest) noexcept;
    void run_costly() noexcept override;
    void go_on(const conversation::event &with) noexcept;
    void ask_host() noexcept;
    bool take_unjudged(inbound &in, byte_span &rest) noexcept;
    void read_unjudged(inbound &in) noexcept;
    void on_verdict_on_guest(const verdict &answer) noexcept;
    void add_verdicts();
    void enter_traffic(inbound &in, byte_span rest, bool takes_all) noexcept;
    bool open_pipe(inbound &in, bool takes_all) noexcept;
    bool introduce_peer(inbound &in, bool takes_all) noexcept;
    void greet_application(inbound &in);
    bool probes_again() const noexcept;
    void note_unknown_gap(inbound &in);
    bool say_last_words() noexcept;
    void end_with_words(break_reason why) noexcept;
    void on_time_of_last_words() noexcept;
    bool obey(const conversation::action &action) noexcept;

    time_point deadline() const noexcept;
    void update_timer() noexcept;
    void fail(break_reason why) noexcept;
    void fail(error system) noexcept;
    void report() noexcept;
    bool close_output() noexcept;

    const connection_environment &environment_;
    connection_host &host_;
    std::unique_ptr<stream> stream_;
    const std::unique_ptr<conversation> peer_;
    std::unique_ptr<timer> timer_;
    time_point timer_at_;
    pipe_end_ptr pipe_;

    outbound out_;
    std::unique_ptr<timer> flush_timer_;
    time_point flush_at_{};

    lease_keeper lease_;  // with the reading half

    time_point since_{};  // it has opened, or the peer has taken of the last words

    bool replays_ = false;
    const acquaintance earlier_peers_;
    leave leave_ = leave::not_taken;
    state state_ = state::shaking_hands;
    break_reason reason_;

    // Octets of a peer that is judged or queued: `most_octets_unjudged`, and what the last read has
    // brought beyond.
    std::unique_ptr<std::vector<std::uint8_t>> unjudged_;

    /// The peer of a stream that has introduced it.
    struct guest {
        void note(const verdict &by);

        credentials shown;  // until it is judged by that
        std::string words;  // why it is not let in
        verdict said;       // by all who were asked, the last one first
    };
    std::unique_ptr<guest> guest_;  // until there is traffic

    std::size_t unread_ = 0;  // octets, when it looked last while the last words were written
};

}  // namespace zlink
