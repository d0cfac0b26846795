// The end of a session. Map: lingering, parting from the peer, the end of the pipe, the end, and
// the parting behind last words.
#include <algorithm>
#include <new>
#include <utility>

#include "session/session.hpp"

namespace zlink {

namespace {
constexpr std::chrono::milliseconds first_parting_look{1};  // each comes after twice the time
constexpr std::chrono::milliseconds last_parting_look{16};
}  // namespace

/// The socket closed its end: what it sent before may still go out, for as long as it asked.
void session::begin_linger() noexcept {
    if (!pipe_ || !pipe_->is_peer_closed())
        return;
    if (phase_ == phase::open)
        phase_ = phase::lingering;
    const int linger_ms = pipe_->peer_linger_ms();
    const bool has_peer = connection_ && connection_->is_established();
    if (linger_ms == 0 || has_given_up() || (!has_peer && dials_no_more())) {
        end_pipe();
        return;
    }
    if (linger_ms > 0 && !end_after(linger_ms))
        return;
    if (connection_) {
        connection_->discard_input();
        connection_->work();
    }
}

/// The application has ended the connection in band, so that what it had sent before goes out. It
/// does not for longer than the socket lingers.
void session::shorten_linger() noexcept {
    const int most_ms = asked_.most_linger_ms.load(std::memory_order_relaxed);
    if (!environment_->options.is_raw() || most_ms < 0 || (last_waits_ && last_waits_->linger))
        return;
    if (most_ms == 0)
        end_pipe();
    else
        (void)end_after(most_ms);
}

/// Makes the place of the waits, if there was none. False when memory is short.
bool session::may_wait() noexcept {
    if (!last_waits_)
        last_waits_.reset(new (std::nothrow) last_waits);
    return last_waits_ != nullptr;
}

/// False when it has ended already, because memory is short.
bool session::end_after(int linger_ms) noexcept {
    if (may_wait())
        last_waits_->linger = environment_->io->make_timer([this] { end_pipe(); });
    if (!last_waits_ || !last_waits_->linger) {
        end_pipe();
        return false;
    }
    last_waits_->linger->expires_at(environment_->io->now() + std::chrono::milliseconds(linger_ms));
    return true;
}

void session::end_if_lingered() noexcept {
    if (phase_ == phase::parting || (pipe_ && pipe_->has_input()) ||
        (connection_ && connection_->has_words_left()))
        return;
    if (!connection_ || !connection_->is_established() ||
        (connection_->drain() && connection_->take_leave() && !leave_time_to_read()))
        end_pipe();
}

/// Leaves the peer the time to read what was written last: closing a stream while input arrives, or
/// when it arrives later, makes the system throw away what is still on its way out. A peer that
/// reads to the end closes at once. False when all has reached the peer's system: no need to wait.
bool session::leave_time_to_read() noexcept {
    if (!connection_->finish_writing())
        return false;
    if (may_wait())
        last_waits_->parting = environment_->io->make_timer([this] { on_parting_time(); });
    if (!last_waits_ || !last_waits_->parting)
        return false;
    phase_ = phase::parting;
    last_waits_->parting_look = first_parting_look;
    on_parting_time();
    return true;
}

/// Goes on waiting as long as it helps, and the peer reads.
void session::on_parting_time() noexcept {
    const std::size_t left = connection_->unconfirmed();
    const time_point now = environment_->io->now();
    last_waits &waits = *last_waits_;
    if (left < waits.unconfirmed)
        waits.parting_ends = now + longest_parting;
    waits.unconfirmed = left;
    if ((left == 0 && !connection_->awaits_leave()) || now >= waits.parting_ends)
        end_pipe();
    else
        waits.parting->expires_at(
            now + std::exchange(waits.parting_look, std::min(2 * waits.parting_look, last_parting_look)));
}

/// Why this side ends a connection.
counter session::counter_of_own_end() const noexcept {
    if (asked_.stopped() == why_stopped::disconnected)
        return counter::disconnects_unbind;
    return pipe_ && pipe_->was_taken_over() ? counter::disconnects_handover : counter::disconnects_local;
}

/// Whoever a socket has closed itself from is no news.
void session::count_own_end() const noexcept {
    const counter why = counter_of_own_end();
    environment_->count(why);
    if (why != counter::disconnects_local)
        note_departure(why, {}, true);
}

/// A connection whose pipe the socket closed is over. A socket that closed the pipe of this
/// connection alone (it refused the peer) still wants its endpoint connected; but where peers do
/// not speak ZMTP it is the application that has closed it.
void session::end_pipe() noexcept {
    if (!is_connecting() || !environment_->options.immediate || is_stopping() ||
        environment_->options.is_raw()) {
        end();
        return;
    }
    if (!let_go(&session::end_pipe))
        return;
    if (connection_) {
        count_own_end();
        environment_->emit(event_kind::disconnected, static_cast<std::uint32_t>(descriptor_), {}, error::none,
                           names_for_event());
    }
    last_waits_.reset();
    drop_connection();
    phase_ = phase::open;
    close_pipe();
    retry_later();
}

void session::end() noexcept {
    if (phase_ == phase::over || !let_go(&session::end))
        return;
    const std::shared_ptr<session> self = shared_from_this();
    if (connection_ && connection_->is_established())
        count_own_end();
    if (const int descriptor = dialing_.descriptor(); descriptor >= 0)
        environment_->emit(event_kind::closed, static_cast<std::uint32_t>(descriptor));
    dialing_.end();
    last_waits_.reset();
    drop_connection();
    close_pipe();
    // Whoever connects there from here on makes another.
    (void)asked_.stop_for(why_stopped::closed);
    if (!finish_parting())
        return;
    phase_ = phase::over;
    environment_->host->on_session_end(*this);
}

/// The last words to the peer of a connection that has ended are to reach it.
void session::begin_parting() noexcept {
    std::unique_ptr<stream> rest = connection_ ? connection_->release_stream() : nullptr;
    if (rest)
        parting_ = parting::begin(*environment_->io, std::move(rest), *this);
}

/// False while last words are on their way to a peer, for as long as the socket lingers.
bool session::finish_parting() noexcept {
    const int most_ms = asked_.most_linger_ms.load(std::memory_order_relaxed);
    if (parting_ && most_ms >= 0)
        parting_->end_by(environment_->io->now() + std::chrono::milliseconds(most_ms));
    if (parting_ && parting_->is_over())
        parting_.reset();
    return !parting_;
}

}  // namespace zlink
