// The end of a connection. Map: the last words; what is left to read; over.
#include "session/connection.hpp"

#include <utility>

namespace zlink {

namespace {
constexpr int reads_at_the_end = 1024;
}  // namespace

// ---- the last words ----

bool connection::drain() noexcept {
    const bool is_here = lease_.recall() != nullptr;
    report();
    return is_here && state_ == state::live && out_.is_drained() && stream_->is_flushed();
}

bool connection::take_leave() noexcept {
    if (say_last_words())
        write();
    return drain();
}

/// False when there are none, or all has been said.
bool connection::say_last_words() noexcept {
    if (leave_ != leave::not_taken)
        return false;
    const std::size_t before = peer_->output().size();
    peer_->say_last_words();
    leave_ = peer_->output().size() > before ? leave::in_words : leave::silent;
    return leave_ == leave::in_words;
}

bool connection::finish_writing() noexcept {
    const bool is_awaited = unconfirmed() > 0 || awaits_leave();
    if (state_ != state::live || failed(out_.failure()) || !is_awaited || !stream_->finish_writing())
        return false;
    out_.finish();
    return true;
}

void connection::end_with_words(break_reason why) noexcept {
    state_ = state::saying_last_words;
    reason_ = why;
    reason_.has_answer_for_peer = !peer_->output().empty();
    flush_timer_.reset();
    since_ = environment_.io->now();
    write();
}

void connection::on_time_of_last_words() noexcept {
    const time_point now = environment_.io->now();
    if (now >= deadline()) {
        const std::size_t left = stream_->unconfirmed();
        if (left < std::exchange(unread_, left))
            since_ = now;
        else
            fail(reason_);
    }
    if (state_ == state::saying_last_words)
        update_timer();
    report();
}

// ---- what is left to read ----

/// After a failed write: takes what has arrived, and then ends. A peer that goes on sending does
/// not put that off, nor does a receiver at its mark: it may be waiting for room here, which only
/// the next connection makes. But where earlier connections have brought much beyond the mark
/// already, the receiver has to take something first: nothing is lost, nor is memory without end.
void connection::read_what_is_left() noexcept {
    inbound *const in = lease_.recall();
    if (!in || state_ != state::live)
        return;
    in->exceed_mark();
    if (in->is_paused())
        resume_reading(*in);
    read_to_the_end(*in);
    if (!in->is_paused())
        fail(out_.failure());
}

/// All that has arrived, as far as there is room for it. Nobody waits for more: a short read is not
/// the last one.
void connection::read_to_the_end(inbound &in) noexcept {
    std::size_t octets = 0;
    for (int i = 0; i < reads_at_the_end && octets < inbound::most_octets_at_the_end; ++i) {
        if (state_ != state::live || in.is_paused())
            break;
        const inbound::found last = read_once(in);
        // A message about keys has no octets, and others may stand behind it.
        if (last.octets == 0 && !stream_->holds_input())
            break;
        octets += last.octets;
    }
}

// ---- over ----

void connection::fail(error system) noexcept {
    fail({.was_established = pipe_ != nullptr, .system = system});
}

void connection::fail(break_reason why) noexcept {
    if (state_ == state::broken || state_ == state::over)
        return;
    state_ = state::broken;
    reason_ = why;
    timer_.reset();
    flush_timer_.reset();
    if (pipe_)
        pipe_->roll_back();
}

void connection::report() noexcept {
    if (state_ == state::live && failed(out_.failure()))
        read_what_is_left();
    if ((state_ == state::judged || state_ == state::queued) && failed(out_.failure()))
        fail(out_.failure());
    if (state_ != state::broken || !close_output())
        return;
    state_ = state::over;
    host_.on_broken(*this, reason_);
}

/// False while the sender writes. What it has had of messages, and not written whole, is lost.
bool connection::close_output() noexcept {
    if (!out_.close())
        return false;
    if (const std::uint64_t lost = out_.take_lost())
        environment_.count(pipe_->is_peer_closed() ? counter::dropped_linger : counter::dropped_peer_gone,
                           lost);
    return true;
}

bool connection::let_go(bool drops_unread) noexcept {
    inbound *const in = lease_.recall();
    if (!in)
        return false;
    if (drops_unread && state_ == state::live && pipe_) {
        in->discard();
        if (in->is_paused())
            (void)in->resume(*peer_);  // what was kept back, and then what is behind it
        read_to_the_end(*in);
    }
    if (std::exchange(state_, state::over) != state::live && leave_ == leave::not_taken)
        leave_ = leave::silent;
    timer_.reset();
    flush_timer_.reset();
    if (!close_output())
        return false;
    // Nobody misses the octets that are not written now: the peer sees the end.
    if (say_last_words())
        (void)out_.write(environment_.io->now());
    return true;
}

std::unique_ptr<stream> connection::release_stream() noexcept {
    const bool has_answered = reason_.has_answer_for_peer && peer_->output().empty();
    if ((!has_answered && !stream_->has_said_why()) || !stream_->finish_writing())
        return nullptr;
    std::unique_ptr<stream> inner = stream_->release_inner();
    return inner ? std::move(inner) : std::move(stream_);
}

}  // namespace zlink
