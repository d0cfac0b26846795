// One peer over time. See session.hpp.
//
// Map: made and asked from any thread; connecting; the life of its connections. Its end is in
//      session_end.cpp, and what it tells in session_events.cpp.
#include "session/session.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/numbers.hpp"
#include "core/reason.hpp"

namespace zlink {

namespace {

/// By what an attempt follows, where no connection came about.
counter counter_of_retry(error cause) noexcept {
    switch (to_errno(cause)) {
    case 0:
        return counter::reconnects_ended;
    case ECONNREFUSED:
        return counter::reconnects_refused;
    case ECONNRESET:
        return counter::reconnects_reset;
    case ETIMEDOUT:
        return counter::reconnects_timed_out;
    case EHOSTUNREACH:
        return counter::reconnects_host_unreachable;
    case ENETUNREACH:
        return counter::reconnects_network_unreachable;
    case ENOENT:
        return counter::reconnects_no_entry;
    case EACCES:
        return counter::reconnects_not_permitted;
    case EPROTO:
        return counter::reconnects_protocol;
    default:
        return counter::reconnects_other;
    }
}

/// By the connection that an attempt follows.
counter counter_of_retry(const break_reason &why) noexcept {
    switch (why.failure) {
    case failure_kind::handshake_timeout:
    case failure_kind::peer_dead:
        return counter::reconnects_timed_out;
    case failure_kind::cut_off:
    case failure_kind::too_slow:
        return counter::reconnects_ended;
    case failure_kind::none:
        if (why.is_end || why.system == error::none)
            return why.was_established ? counter::reconnects_ended : counter::reconnects_protocol;
        return to_errno(why.system) == EPIPE ? counter::reconnects_reset : counter_of_retry(why.system);
    case failure_kind::peer_closed:
        return why.was_established ? counter::reconnects_ended : counter::reconnects_protocol;
    default:
        return counter::reconnects_protocol;
    }
}

constexpr std::chrono::milliseconds least_look{1};       // at a queue that may be full for a time
constexpr std::chrono::milliseconds unheard_look{1000};  // where nobody listens
}  // namespace

session::session(made_here, session_environment_ptr environment)
    : number_(new_number.sessions.next()), environment_(std::move(environment)),
      dialing_(environment_->options) {}

session::~session() = default;

std::shared_ptr<session> session::connecting(session_environment_ptr environment, const transport &kind,
                                             pipe_end_ptr pipe) {
    const auto made = std::make_shared<session>(made_here(), std::move(environment));
    made->dialing_.use(kind);
    made->pipe_ = std::move(pipe);
    return made;
}

std::shared_ptr<session> session::accepted(session_environment_ptr environment,
                                           std::unique_ptr<stream> bytes) {
    const auto made = std::make_shared<session>(made_here(), std::move(environment));
    made->first_stream_ = std::move(bytes);
    return made;
}

error session::start() noexcept {
    // An accepted one may have been let in just before that was forbidden.
    ask(environment_->permission ? wish_start | wish_permission : wish_start);
    return error::none;
}

session::why_stopped session::demands::stop_for(why_stopped why) noexcept {
    why_stopped before = stopped();
    while (before < why && !stop.compare_exchange_weak(before, why, std::memory_order_relaxed)) {
    }
    return before;
}

bool session::stop(why_stopped why) noexcept {
    const bool is_first = asked_.stop_for(why) == why_stopped::not_at_all;
    ask(wish_stop);
    return is_first;
}

void session::stop_within(int linger_ms) noexcept {
    asked_.most_linger_ms.store(linger_ms, std::memory_order_relaxed);
    (void)stop();
}

void session::on_readable(pipe_end &) noexcept { ask(wish_work); }
void session::on_writable(pipe_end &) noexcept { ask(wish_work); }
void session::on_closed(pipe_end &) noexcept { ask(wish_closed); }

/// Queues the session on its loop with something to do. Any thread.
void session::ask(unsigned wishes) noexcept {
    if (asked_.wishes.fetch_or(wishes, std::memory_order_acq_rel) != 0)
        return;  // queued already
    keep_ = shared_from_this();
    environment_->io->post(*this);
}

void session::run() noexcept {
    const std::shared_ptr<session> self = std::move(keep_);
    const unsigned wishes = asked_.wishes.exchange(0, std::memory_order_acq_rel);
    if (phase_ == phase::over)
        return;
    if (wishes & wish_start)
        begin();
    if (rest_)
        (this->*rest_)();
    const auto goes_on = [this] { return phase_ != phase::over && !rest_; };
    if (parting_ && parting_->is_over())
        parting_.reset();
    if (goes_on() && (wishes & wish_permission))
        end_if_forbidden();
    if (goes_on() && (wishes & wish_slow))
        tell_slow();
    if (goes_on() && (wishes & wish_cut))
        break_cut_connection();
    if (goes_on() && is_broken_)
        after_break();
    if (goes_on() && (wishes & wish_closed))
        begin_linger();
    if (goes_on() && is_closing() && (wishes & wish_stop))
        shorten_linger();
    if (goes_on() && is_stopping() && !pipe_)
        end();
    if (goes_on() && connection_ && (wishes & wish_verdict))
        take_verdict();
    if (goes_on() && connection_ && (wishes & wish_work))
        connection_->work();
    if (goes_on() && is_closing())
        end_if_lingered();
}

void session::look_task::run() noexcept {
    const std::shared_ptr<session> holder = std::move(keep);
    if (holder->connection_)
        holder->connection_->look();
}

void session::want_look() noexcept {
    if (look_.keep)
        return;
    look_.keep = shared_from_this();
    environment_->io->run_before_sleep(look_);
}

void session::begin() noexcept {
    if (first_stream_) {
        begin_connection(std::move(first_stream_), true);
        return;
    }
    // Before it is needed: memory may be short then, and an endpoint does not come to its end for
    // that.
    (void)make_retry_timer();
    dial();
}

bool session::make_retry_timer() noexcept {
    return dialing_.make_timer(*environment_->io, [this] { dial(); });
}

// ---- connecting ----

bool session::is_permitted(std::string &why) const noexcept {
    return !environment_->permission || environment_->permission->holds(why);
}

void session::end_if_forbidden() noexcept {
    std::string why;
    const bool is_established = connection_ && connection_->is_established();
    const bool may_stay = is_established ? !environment_->permission->is_revoked() : is_permitted(why);
    if (may_stay && !(permit_ && permit_->is_revoked()))
        return;
    if (connection_) {
        on_broken(*connection_, {.was_established = is_established, .system = error::not_permitted});
    } else if (dialing_.is_trying()) {
        dialing_.break_off();
        retry_later(std::move(why), error::not_permitted);
    }
}

void session::break_cut_connection() noexcept {
    if (!connection_ || is_broken_)
        return;
    const bool is_slow = asked_.cut_for.load(std::memory_order_relaxed) == cut_reason::too_slow;
    on_broken(*connection_, {.was_established = connection_->is_established(),
                             .failure = is_slow ? failure_kind::too_slow : failure_kind::cut_off});
}

void session::dial() noexcept {
    if (std::string why; !is_permitted(why)) {
        retry_later(std::move(why), error::not_permitted);
        return;
    }
    const error e =
        dialing_.begin(environment_->address, environment_->options, environment_->sizes, *environment_->io);
    if (e == error::terminated) {
        emit_reason(reason::take(), e);
        end();
        return;
    }
    if (failed(e)) {
        retry_later(reason::take(), e);
        return;
    }
    dialer &attempt = dialing_.attempt();
    attempt.report_pending([this] { environment_->emit(event_kind::connect_delayed, EINPROGRESS); });
    attempt.dial(
        [this](std::unique_ptr<stream> bytes, error failure) { on_dialed(std::move(bytes), failure); });
}

void session::on_dialed(std::unique_ptr<stream> bytes, error failure) noexcept {
    const std::shared_ptr<session> self = shared_from_this();
    std::string words = reason::take();
    if (failed(failure)) {
        if (failure == error::no_memory)
            chunk_pool::give_up_idle();
        if (const int descriptor = dialing_.descriptor(); descriptor >= 0)
            environment_->emit(event_kind::closed, static_cast<std::uint32_t>(descriptor),
                               std::exchange(words, {}), failure);
        const int stops = environment_->options.reconnect_stop;
        if (failure == error::terminated ||
            (failure == error::connection_refused && (stops & reconnect_stop_on::connection_refused))) {
            dialing_.end_attempt();
            emit_reason(std::move(words), failure);
            end();
            return;
        }
        retry_later(std::move(words), failure);
        return;
    }
    environment_->emit(event_kind::connected, static_cast<std::uint32_t>(bytes->descriptor()),
                       std::move(words), failure, environment_->names_of(*bytes));
    begin_connection(std::move(bytes), false);
}

/// After a failure, which the words explain, if there are any.
void session::retry_later(std::string words, error why) noexcept {
    retry(std::move(words), why, counter_of_retry(why), false);
}

/// `why` is told, `what` counted: the end of a connection was told before.
void session::retry(std::string words, error why, counter what, bool was_refused) noexcept {
    dialing_.end_attempt();
    if (pipe_)
        pipe_->say_gone();  // that was left out where the reader was behind
    if (environment_->options.reconnect_interval_ms <= 0) {
        emit_reason(std::move(words), why);
        return;  // never again; the pipe stays until the socket closes it
    }
    const auto delay = dialing_.next_delay(environment_->random->next(), was_refused);
    if (!make_retry_timer()) {
        emit_reason(std::move(words), why);
        end();
        return;
    }
    environment_->count(what);
    environment_->emit(event_kind::connect_retried, static_cast<std::uint32_t>(delay.count()),
                       std::move(words), why);
    dialing_.wait_until(environment_->io->now() + delay);
}

/// Nothing is under way that could lead to a connection.
bool session::has_given_up() const noexcept { return !connection_ && !dialing_.is_going_on(); }

void session::begin_connection(std::unique_ptr<stream> bytes, bool is_server) noexcept {
    dialing_.end_attempt();
    descriptor_ = bytes->descriptor();
    try {
        connection_ = std::make_unique<connection>(
            *environment_, std::move(bytes), is_server, static_cast<connection_host &>(*this),
            connection_past{.web = &web_memory_, .peers = acquaintance_});
    } catch (...) {
        reason_ = {.system = error::no_memory};
        is_broken_ = true;
        ask(wish_broken);
        return;
    }
    if (pipe_)
        connection_->replay_subscriptions();
    connection_->start();
}

// ---- the connection's life ----

pipe_end_ptr session::on_established(connection &which) noexcept {
    if (!describe_peer(which))
        return nullptr;
    ready_since_ = environment_->io->now();
    dialing_.note_success();
    if (!pipe_) {
        pipe_ = environment_->host->make_session_pipe(*this);
        if (!pipe_)
            return nullptr;
    }
    acquaintance_.meet();
    watch_queue();
    return pipe_;
}

void session::tell_handshake() noexcept {
    environment_->emit(event_kind::handshake_succeeded, 0, {}, error::none, names_for_event());
}

/// Without memory for it the drops alone are told.
void session::watch_queue() noexcept {
    if (environment_->options.slow_peer_after_ms == 0)
        return;
    queue_watch_.reset(new (std::nothrow) queue_watch);
    if (queue_watch_)
        queue_watch_->next_look = environment_->io->make_timer([this] { look_at_queue(); });
    if (queue_watch_ && queue_watch_->next_look)
        look_at_queue();
}

/// A queue is looked at twice in the time that it may be full: it is told of within half as much
/// again. It counts as full until less than half of its marks waits, or all that waited has gone
/// between two looks. Where nobody listens the looks are rare: they find out whether somebody does.
void session::look_at_queue() noexcept {
    if (!connection_ || !connection_->is_established() || !pipe_)
        return;
    const std::chrono::milliseconds most(environment_->options.slow_peer_after_ms);
    const pipe_end &writer = pipe_->other();
    const time_point now = environment_->io->now();
    const bool is_heard = environment_->events->wants_slow_peers();
    std::optional<time_point> &since = queue_watch_->full_since;
    if (writer.is_peer_full()) {
        const passage out = writer.outgoing();
        if (!since || out.taken.messages >= queue_watch_->full_up_to) {
            since = now;
            queue_watch_->full_up_to = out.published.messages;
        }
    } else if (writer.end_slow()) {
        since.reset();
    }
    if (since && now - *since >= most && is_heard && writer.note_slow())
        tell_slow();
    queue_watch_->next_look->expires_at(now + std::max(most / 2, is_heard ? least_look : unheard_look));
}

void session::tell_slow() noexcept {
    if (!connection_ || !connection_->is_established() || !pipe_)
        return;
    try {
        const pipe_end &writer = pipe_->other();
        environment_->events->emit({.kind = event_kind::slow_peer,
                                    .value = static_cast<std::uint32_t>(writer.dropped()),
                                    .endpoint = environment_->endpoint,
                                    .is_connecting = environment_->is_connecting,
                                    .peer = names_of_peer(),
                                    .more_value = writer.outgoing().under_way().messages});
    } catch (const std::bad_alloc &) {
    }
}

/// Nobody waits for the answer: it is taken when it is there. Without anybody to be asked, or
/// without memory for the question, that is in the next round.
void session::authenticate(connection &which) noexcept {
    question_.reset();
    unasked_ = verdict::kind::no_handler;
    try {
        const settings &options = environment_->options;
        if (environment_->judges)
            question_ = environment_->judges->ask(
                {options.zap_domain, which.bytes().peer_address(), options.routing_id, which.shown()},
                [weak = weak_from_this()] {
                    if (const auto self = weak.lock())
                        self->ask(wish_verdict);
                });
    } catch (...) {
        unasked_ = verdict::kind::unanswered;
    }
    if (!question_)
        ask(wish_verdict);
}

void session::take_verdict() noexcept {
    verdict answer;
    answer.what = unasked_;
    try {
        if (question_ && !question_->take(answer))
            return;
    } catch (...) {
        answer = {};
        answer.what = verdict::kind::unanswered;
    }
    question_.reset();
    if (answer.lasts && answer.lasts->is_revoked()) {
        // The rules changed behind the answer, or memory is short. The peer may ask again.
        answer = {};
        answer.what = verdict::kind::unanswered;
    } else if (answer.lasts) {
        permit_ = answer.lasts;
    }
    connection_->on_verdict(answer);
}

void session::on_broken(connection &, const break_reason &why) noexcept {
    reason_ = why;
    is_broken_ = true;
    ask(wish_broken);
}

void session::on_drained(connection &) noexcept {
    if (is_closing())
        ask(wish_drained);
    if (pipe_)
        pipe_->tell_drained();
}

void session::after_break() noexcept {
    if (!let_go(&session::after_break))
        return;
    is_broken_ = false;
    if (phase_ == phase::parting) {
        end_pipe();
        return;
    }
    if (reason_.system == error::no_memory)
        chunk_pool::give_up_idle();  // the next connection may find some
    emit_break();
    const break_reason why = reason_;
    begin_parting();
    drop_connection();
    const int stops = environment_->options.reconnect_stop;
    const bool stops_now =
        (!why.may_retry) || why.system == error::terminated || dials_no_more() ||
        (!why.was_established && !why.is_cut() && (stops & reconnect_stop_on::handshake_failed)) ||
        environment_->options.reconnect_interval_ms <= 0;
    // A peer that was too slow would be so again with what waits for it.
    const bool keeps_pipe =
        is_connecting() && !environment_->options.immediate && why.failure != failure_kind::too_slow;
    if (pipe_ && why.was_established)
        say_gone(keeps_pipe, stops_now);
    if (!is_connecting()) {
        end();
        return;
    }
    if (!keeps_pipe && pipe_) {
        close_pipe();
        if (is_closing()) {
            end();
            return;
        }
    }
    if (stops_now) {
        end();
        return;
    }
    retry({}, error::none, counter_of_retry(why), is_refusal(why.failure));
}

/// Tells the socket that its peer is away; until the next hello, where it comes again.
void session::say_gone(bool keeps_pipe, bool stops_now) noexcept {
    const settings &options = environment_->options;
    leave_message(keeps_pipe && !stops_now ? options.hiccup_message : options.disconnect_message);
    if (options.tells_of_connections() && !failed(pipe_->write(0, {})))
        pipe_->publish();
    if (keeps_pipe)
        pipe_->say_gone();
}

/// A message for the application that no peer has sent.
void session::leave_message(const std::string &body) noexcept {
    if (body.empty() || failed(pipe_->write(0, as_bytes(body))))
        return;
    pipe_->publish();
    acquaintance_.hear();
}

bool session::dials_no_more() const noexcept {
    return asked_.stopped() == why_stopped::disconnected &&
           (environment_->options.reconnect_stop & reconnect_stop_on::disconnect);
}

/// Nobody waits for a thread that is reading or writing on the connection: whoever leaves it has
/// this session go on with `rest`.
bool session::let_go(continuation rest) noexcept {
    rest_ = connection_ && !connection_->let_go(is_closing()) ? rest : nullptr;
    return !rest_;
}

/// To be called once it has let go.
void session::drop_connection() noexcept {
    if (connection_ && connection_->has_delivered())
        acquaintance_.hear();
    queue_watch_.reset();
    connection_.reset();
    question_.reset();
    permit_.reset();
    if (pipe_ && is_connecting()) {
        pipe_->follow(false);
        pipe_->note_peer(false);
    }
    is_broken_ = false;
}

/// Peers that come and go while the application does not look leave nothing behind.
void session::close_pipe() noexcept {
    const pipe_end_ptr closing = std::move(pipe_);
    if (!closing)
        return;
    const counter why = closing->is_peer_closed() ? counter::dropped_linger : counter::dropped_peer_gone;
    closing->close();
    const pipe_end::lost_messages lost = closing->take_lost();
    environment_->count(why, lost.unread);
    environment_->count(counter::dropped_unread, lost.untaken);
    if (!acquaintance_.has_heard())
        environment_->host->withdraw_pipe(closing->other());
    acquaintance_.lose_pipe();
}

}  // namespace zlink
