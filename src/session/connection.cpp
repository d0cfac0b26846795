// The driver of one connection. See connection.hpp.
//
// Map: opening; what the session calls; what the stream and the clock call; writing; the lease;
// reading and the handshake; time. Who lets the peer in is in connection_judged.cpp, its end in
// connection_end.cpp.
#include "session/connection.hpp"

#include "core/invariant.hpp"
#include "pipe/in_band.hpp"

namespace zlink {

namespace {
constexpr int reads_per_round = 4;
}  // namespace

connection::connection(const connection_environment &environment, std::unique_ptr<stream> bytes,
                       bool is_server, connection_host &host, const connection_past &past)
    : environment_(environment), host_(host), stream_(std::move(bytes)),
      peer_(make_conversation(environment.options, is_server,
                              environment.place ? &*environment.place : nullptr, past.web)),
      out_(*stream_, *peer_, environment.subscriptions.get(), environment.sizes),
      lease_(environment_, *stream_, out_, *this), earlier_peers_(past.peers) {
    stream_->set_events(this);
    environment_.add_descriptors(1);
}

connection::~connection() {
    const bool is_free = lease_.recall_quietly() && close_output();
    ZLINK_INVARIANT(is_free);
    stream_.reset();  // no callback comes from here on
    environment_.add_descriptors(-1);
}

std::string connection::reason() const {
    std::string words = stream_->reason();
    if (words.empty() && guest_)
        words = guest_->words;
    return words.empty() ? peer_->reason() : words;
}

void connection::start() noexcept {
    since_ = environment_.io->now();
    if (stream_->shakes_hands_by_itself())
        await_handshake_of_stream();
    else
        open();
    report();
}

void connection::open() noexcept {
    const error reason = stream_->shake_hands();
    if (!failed(reason)) {
        receive_guest();
    } else if (reason != error::again) {
        fail(reason);
    } else {
        await_handshake_of_stream();
    }
}

void connection::await_handshake_of_stream() noexcept {
    update_timer();
    if (state_ == state::shaking_hands)
        stream_->wait_readable();
}

/// The conversation. The time that the stream's handshake has taken is part of the time that this
/// one may take. `rest` has been read before, and stands in the scratch block.
void connection::begin(byte_span rest) noexcept {
    state_ = state::live;
    inbound &in = *lease_.reading();
    const auto first = peer_->resume({conversation::event_kind::start, {}, since_});
    if (!obey(first))
        return;
    follow_handshake(in, first, rest);
    if (state_ == state::live && !in.is_paused())
        stream_->wait_readable();
}

void connection::work() noexcept {
    if (state_ == state::saying_last_words) {
        tend_lease();
        write();
    }
    if (state_ != state::live) {
        report();
        return;
    }
    tend_lease();
    if (inbound *const in = lease_.reading(); in && state_ == state::live && in->is_paused())
        resume_reading(*in);
    if (state_ == state::live)
        write();
    report();
}

void connection::look() noexcept {
    if (state_ != state::live || !pipe_)
        return;
    inbound *const in = lease_.reading();
    if ((in && in->is_paused() && in->may_deliver()) || out_.has_work())
        host_.want_round();
}

void connection::discard_input() noexcept {
    inbound *const in = pipe_ ? lease_.recall() : nullptr;
    if (!in)
        return;
    if (!in->discards()) {
        in->discard();
        if (state_ == state::live && in->is_paused())
            resume_reading(*in);
    }
    report();
}

void connection::on_stream_readable() noexcept {
    if (state_ == state::shaking_hands) {
        open();
        report();
        return;
    }
    inbound *const in = lease_.reading();
    if (in && is_put_off()) {
        read_unjudged(*in);
        report();
        return;
    }
    if (!in || state_ != state::live)
        return;
    read(*in);
    if (state_ == state::live && peer_->has_words())
        write();
    report();
}

void connection::on_stream_writable() noexcept {
    out_.note_writable();
    if (state_ == state::saying_last_words)
        since_ = environment_.io->now();  // it reads
    write();
    report();
}

void connection::on_time_of_handshake() noexcept {
    if (environment_.io->now() >= deadline())
        fail(break_reason{.failure = failure_kind::handshake_timeout});
    else
        update_timer();
    report();
}

void connection::on_time() noexcept {
    if (state_ == state::shaking_hands || is_put_off()) {
        on_time_of_handshake();
        return;
    }
    if (state_ == state::saying_last_words) {
        on_time_of_last_words();
        return;
    }
    inbound *const in = lease_.reading();
    if (!in || state_ != state::live)
        return;  // nothing is due at a connection that may be leased
    if (failed(out_.failure())) {
        report();
        return;
    }
    if (in->is_paused() || out_.is_finished())
        // it is this side that does not listen, or asks no more
        peer_->note_traffic(environment_.io->now());
    else
        look_before_verdict(*in);
    if (state_ != state::live || failed(out_.failure())) {
        report();
        return;
    }
    if (obey(peer_->resume({conversation::event_kind::time, {}, environment_.io->now()}))) {
        update_timer();
        write();
    }
    report();
}

/// The peer's octets that came in time count, however late this thread is, and however much room
/// has to be free before it is told.
void connection::look_before_verdict(inbound &in) noexcept {
    read(in);
    for (int i = 1; i < reads_per_round && state_ == state::live && stream_->holds_input(); ++i)
        read(in);  // an answer may stand behind what has no octets, as a message about keys
    if (state_ != state::live)
        return;
    if (peer_->has_words()) {
        out_.note_writable();
        write();
    }
    if (out_.take_progress())
        peer_->note_output_held_up(environment_.io->now());
}

void connection::write() noexcept {
    const bool is_last = state_ == state::saying_last_words;
    if (!is_last && state_ != state::live && state_ != state::judged && state_ != state::queued)
        return;
    const time_point now = environment_.io->now();
    const bool has_output = peer_->has_words();
    const outbound::written result = is_last ? out_.write_last_words(now) : out_.write(now);
    if (has_output && !peer_->has_words())
        peer_->note_output_written(now);
    switch (result) {
    case outbound::written::all:
        if (is_last) {
            fail(reason_);
            return;
        }
        if (pipe_) {
            host_.want_look();
            host_.on_drained(*this);
        }
        break;
    case outbound::written::some:
        host_.want_round();
        break;
    case outbound::written::held:
        write_at(out_.due());
        break;
    case outbound::written::full:
        pipe_->wake_other_end();  // a borrower that sleeps already waits for other things
        break;
    case outbound::written::refused:
        break;
    }
    if (is_last) {
        unread_ = stream_->unconfirmed();
        update_timer();
    }
}

void connection::write_at(time_point when) noexcept {
    if (!flush_timer_)
        flush_timer_ = environment_.io->make_timer([this] {
            write();
            report();
        });
    if (flush_timer_ && flush_timer_->is_pending() && flush_at_ == when)
        return;
    flush_at_ = when;
    if (flush_timer_)
        flush_timer_->expires_at(when);
    else
        host_.want_round();
}

// ---- the lease ----

/// Grants, refuses and ends the lease.
void connection::tend_lease() noexcept {
    if (!lease_.tend())
        return;
    if (may_grant(*lease_.reading()))
        lease_.grant();
    else
        lease_.refuse();
}

/// Heartbeats need the loop's thread all the time.
bool connection::may_grant(inbound &in) noexcept {
    return state_ == state::live && !in.discards() && !pipe_->is_peer_closed() && !pipe_->is_conflating() &&
           peer_->deadline() == time_point::max() && (!in.is_paused() || in.may_deliver());
}

void connection::on_reading_back(inbound &in, error failure) noexcept {
    if (failed(failure)) {
        fail(failure);
        return;
    }
    if (in.failure()) {
        note_reading(in);
        return;
    }
    if (pipe_->is_peer_closed() && !in.discards())
        in.discard();
    if (in.is_paused())
        resume_reading(in);
    else
        stream_->wait_readable();
    if (state_ == state::live)
        write();
}

// ---- in ----

void connection::read(inbound &in) noexcept {
    for (int round = 0; round < reads_per_round; ++round) {
        if (state_ != state::live || in.is_paused())
            return;
        if (!read_once(in).has_filled_room)
            break;
    }
    if (state_ == state::live && !in.is_paused())
        stream_->wait_readable();
}

inbound::found connection::read_once(inbound &in) noexcept {
    const inbound::found found = in.read(environment_.io->scratch, *peer_);
    if (!found.handshake.empty())
        take_handshake(in, found.handshake);
    note_reading(in);
    return found;
}

void connection::resume_reading(inbound &in) noexcept {
    const bool goes_on = in.resume(*peer_);
    note_reading(in);
    if (goes_on && state_ == state::live && !failed(out_.failure()))
        stream_->wait_readable();
}

/// Does all that has to follow when the reading half was used.
void connection::note_reading(inbound &in) noexcept {
    if (state_ != state::live)
        return;
    if (in.failure()) {
        if (in.failure()->has_answer_for_peer)
            end_with_words(*in.failure());
        else
            fail(*in.failure());
        return;
    }
    update_timer();  // a PING may have named a time limit
    if (in.is_paused()) {
        pipe_->arm_writer();
        host_.want_look();
    }
}

/// Octets before traffic go to the conversation; what stands behind the handshake is traffic
/// already.
void connection::take_handshake(inbound &in, byte_span octets) noexcept {
    while (!octets.empty() && state_ == state::live && !peer_->is_established()) {
        const auto action = peer_->resume({conversation::event_kind::octets, octets});
        in.wipe(octets.first(action.consumed));
        octets = octets.subspan(action.consumed);
        if (!obey(action)) {
            if (action.has_clear_rest)
                in.count_left(octets);  // the peer is not at fault
            return;
        }
        if (action.kind != conversation::action_kind::wait) {
            follow_handshake(in, action, octets);
            return;
        }
        if (action.consumed == 0)
            break;
    }
    if (state_ == state::live) {
        update_timer();
        write();
    }
}

/// Does what a step of the handshake asks for. `rest` has come behind it.
void connection::follow_handshake(inbound &in, const conversation::action &step, byte_span rest) noexcept {
    switch (step.kind) {
    case conversation::action_kind::established:
        enter_traffic(in, rest, step.takes_all);
        break;
    case conversation::action_kind::authenticate:
        await_verdict(rest);
        break;
    case conversation::action_kind::costly:
        await_turn(rest, step.is_of_stranger);
        break;
    default:
        take_handshake(in, rest);
        break;
    }
}

/// `rest` has come behind the handshake.
void connection::enter_traffic(inbound &in, byte_span rest, bool takes_all) noexcept {
    if (!open_pipe(in, takes_all)) {
        if (peer_->framing().is_identity())
            in.count_left(rest);
        return;
    }
    if (!rest.empty())
        in.begin(*static_cast<chunk *>(environment_.io->scratch.get()), rest, *peer_);
    note_reading(in);
    if (state_ == state::live)
        write();
}

/// False when it has failed: there is no memory, or no socket any more.
bool connection::open_pipe(inbound &in, bool takes_all) noexcept {
    try {
        add_verdicts();
    } catch (...) {
        fail(error::no_memory);
        return false;
    }
    pipe_ = host_.on_established(*this);
    const bool is_known = pipe_ && introduce_peer(in, takes_all);
    host_.tell_handshake();
    if (!is_known) {
        fail(break_reason{.was_established = true, .system = pipe_ ? error::no_memory : error::none});
        return false;
    }
    try {
        greet_application(in);
        in.set_decoder(peer_->framing().make_decoder(environment_.pool.get()));
    } catch (...) {
        fail(error::no_memory);
        return false;
    }
    return true;
}

/// Tells the socket who is there. False when memory is short.
bool connection::introduce_peer(inbound &in, bool takes_all) noexcept {
    if (peer_->framing().numbers_frames())
        stream_->expect_sealed_bodies();
    lease_.open(*pipe_);
    in.open(*pipe_);
    out_.open(pipe_, replays_, *this, *environment_.pool);
    pipe_->set_info(&peer_->info());
    if (failed(pipe_->say_hello(as_bytes(peer_->info().routing_id))) ||
        (environment_.options.tells_of_connections() && failed(pipe_->write(0, {}))))
        return false;
    pipe_->publish();
    if (takes_all && environment_.options.has_subscribers())
        in.subscribe_to_all();
    pipe_->note_peer(true);
    return true;
}

/// The first messages to the other application, if ours has chosen any: in front of all that the
/// pipe holds.
void connection::greet_application(inbound &in) {
    if (earlier_peers_.has_met())
        note_unknown_gap(in);
    const byte_span hello = as_bytes(environment_.options.hello_message);
    if (!hello.empty())
        peer_->framing().encode(0, hello, peer_->output());
    if (probes_again())
        peer_->framing().encode(0, {}, peer_->output());
}

/// ZMQ_PROBE_ROUTER: the socket has left the first probe in the pipe.
bool connection::probes_again() const noexcept {
    const settings &options = environment_.options;
    return earlier_peers_.has_met_by_pipe() && options.probe_router && options.type != socket_type::rep &&
           !options.is_raw();
}

/// Nobody has counted what was lost between two connections. Who has dialed again says so: to the
/// subscriber, or as one.
void connection::note_unknown_gap(inbound &in) {
    if (peer_->info().hears_gaps)
        peer_->framing().encode_command(in_band::gap(0), peer_->output());
    if (environment_.options.asks_for_gaps())
        (void)in.note_gap(0);
}

/// Does what the conversation says outside of traffic. False when the connection is over.
bool connection::obey(const conversation::action &action) noexcept {
    if (action.kind != conversation::action_kind::close)
        return true;
    const bool has_answer = !peer_->output().empty();
    if (!action.is_short_of_memory)
        // an ERROR command, if there is room for it
        (void)out_.write_last_words(environment_.io->now());
    fail(break_reason::of(action, pipe_ != nullptr, has_answer));
    return false;
}

// ---- time ----

time_point connection::deadline() const noexcept {
    if (state_ == state::saying_last_words)
        return since_ + longest_parting;
    if (state_ != state::shaking_hands && state_ != state::at_door)
        return peer_->deadline();
    const int most_ms = environment_.options.handshake_interval_ms;
    return most_ms > 0 ? since_ + std::chrono::milliseconds(most_ms) : time_point::max();
}

void connection::update_timer() noexcept {
    const time_point when = deadline();
    if (when == time_point::max()) {
        timer_.reset();
        return;
    }
    // A timer that goes off too early looks again and is put off.
    if (timer_ && timer_->is_pending() && timer_at_ <= when)
        return;
    if (!timer_)
        timer_ = environment_.io->make_timer([this] { on_time(); });
    if (!timer_) {
        fail(error::no_memory);
        return;
    }
    timer_at_ = when;
    timer_->expires_at(when);
}

}  // namespace zlink
