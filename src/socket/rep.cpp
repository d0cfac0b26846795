// REP: takes a request, keeps its envelope, returns the envelope with the reply (RFC 28).
//
// Wire:     frames of the envelope | empty delimiter | body. A request without a delimiter is
//           dropped.
// Order:    the class; receiving, as far as the body; the envelope kept; sending; arming.
#include <algorithm>
#include <vector>

#include "core/frame.hpp"
#include "pipe/fair_queue.hpp"
#include "socket/pattern.hpp"

namespace zlink {

namespace {

// to copy so many costs as much as to look at a frame
constexpr std::size_t octets_like_a_frame = 128;

class rep final : public plain_pattern {
public:
    explicit rep(const pattern_environment &environment) : host_(environment.host) {}

    void attach(const pipe_end_ptr &pipe, bool) override { requests_.attach(*pipe); }
    void detach(pipe_end &pipe) noexcept override {
        stop_replying_to(pipe);
        requests_.detach(pipe);
    }
    void on_readable(pipe_end &pipe) override { requests_.activate(pipe); }
    void on_writable(pipe_end &pipe) override { host_.look_at_slow(pipe); }
    void on_closed(pipe_end &pipe) override {
        if (!requests_.has(pipe))
            return;
        stop_replying_to(pipe);
        if (requests_.end(pipe, *this))
            host_.finished(pipe);
    }

    error send(const outgoing &frame) override;
    error receive(frame_view &out) override;
    bool has_input() override { return !is_replying() && reach_body(); }
    bool drops() const noexcept override { return true; }
    bool has_output() override { return is_replying(); }
    bool arm(bool for_input, bool for_output) override;

    // For the fair queue.
    void on_command(pipe_end &, const frame_view &) noexcept {}
    void on_end(pipe_end &pipe) noexcept { host_.finished(pipe); }

private:
    enum class stage {
        ready,  // between requests
        // some frames of an envelope are kept: memory was short, or it was enough for one call
        envelope,
        reading,   // the envelope is kept, frames of the body follow
        replying,  // the request is read, nothing of the reply is written
        writing,   // some frames of the reply are written, or its peer has gone
        dropping,  // the peer had no room for the reply, of which frames follow
    };

    bool is_replying() const noexcept { return stage_ >= stage::replying; }
    bool reach_body();
    void begin_envelope() noexcept;
    void keep(const frame_view &frame);
    error begin_reply() noexcept;
    void stop_replying_to(pipe_end &pipe) noexcept {
        if (origin_ != &pipe)
            return;
        pipe.roll_back();
        origin_ = nullptr;
    }
    void end_reply() noexcept;

    void forget_envelope() noexcept;

    pattern_host &host_;
    fair_queue requests_;
    stage stage_ = stage::ready;
    pipe_end *origin_ = nullptr;          // where the reply goes; null: nowhere
    std::vector<std::uint8_t> envelope_;  // in wire form, with the delimiter
};

error rep::receive(frame_view &out) {
    if (is_replying())
        return error::wrong_state;
    if (!reach_body())
        return error::again;
    requests_.read(out, *this);
    if (!out.has_more())
        stage_ = stage::replying;
    return error::none;
}

/// Stands before the next frame of a request's body when there is one. Drops requests without a
/// delimiter, a bounded number of frames in one call.
bool rep::reach_body() {
    // A request that was cut off by a disconnect is no request.
    if (stage_ == stage::reading && requests_.is_in_message())
        return true;
    if (stage_ != stage::envelope || !requests_.has_front())
        begin_envelope();
    frame_view frame;
    for (std::size_t left = most_frames_passed_over; left > 0;
         left -= std::min(left, 1 + frame.size / octets_like_a_frame)) {
        if (!requests_.read(frame, *this))
            return false;
        if (!frame.has_more()) {  // before there was a delimiter
            host_.count_drop(counter::dropped_unwanted);
            begin_envelope();
            continue;
        }
        keep(frame);
        if (frame.size > 0)
            continue;
        pipe_end *from = requests_.last();
        origin_ = from->slot.is_ending() ? nullptr : from;
        stage_ = stage::reading;
        return true;
    }
    host_.go_on_later();
    return false;
}

void rep::begin_envelope() noexcept {
    forget_envelope();
    stage_ = stage::ready;
}

/// A peer may have sent a very long one: its memory is not kept for the next.
void rep::forget_envelope() noexcept {
    constexpr std::size_t most_octets_kept = 4096;
    if (envelope_.capacity() > most_octets_kept)
        std::vector<std::uint8_t>().swap(envelope_);
    envelope_.clear();
}

/// Copies a frame of the envelope. When memory is short it throws, and the frame comes again.
void rep::keep(const frame_view &frame) {
    stage_ = stage::envelope;
    const std::size_t at = envelope_.size();
    try {
        envelope_.resize(at + frame_header_size(frame.size) + frame.size);
    } catch (...) {
        requests_.put_back(frame);
        throw;
    }
    std::uint8_t *body = put_frame_header(envelope_.data() + at, frame.size, frame_flag::more);
    std::copy_n(frame.data, frame.size, body);
}

error rep::send(const outgoing &frame) {
    if (!is_replying())
        return error::wrong_state;
    const bool is_first = stage_ == stage::replying;
    if (is_first) {
        if (const error e = begin_reply(); failed(e))
            return e;
    }
    if (origin_) {
        if (const error e = write_frame(*origin_, frame); failed(e)) {
            if (is_first)
                origin_->roll_back();
            return e;
        }
    }
    if (stage_ == stage::replying)
        stage_ = stage::writing;
    if (!frame.more)
        end_reply();
    return error::none;
}

/// Counts a reply whose peer has gone: once it is whole, as with the other types.
void rep::end_reply() noexcept {
    if (origin_)
        std::exchange(origin_, nullptr)->publish();
    else if (stage_ == stage::writing)
        host_.count_drop(counter::dropped_peer_gone);
    stage_ = stage::ready;
    forget_envelope();
}

/// Writes the envelope back. A reply that its peer has no room for goes nowhere: REP never waits to
/// send.
error rep::begin_reply() noexcept {
    if (!origin_)
        return error::none;
    if (!origin_->has_credit()) {
        origin_->note_drop();
        host_.tell_slow(*origin_);
        origin_ = nullptr;
        stage_ = stage::dropping;
        return error::none;
    }
    frame_header header;
    for (byte_span rest = envelope_; get_frame_header(rest.data(), rest.size(), header);) {
        const byte_span body = rest.subspan(header.header_size, header.body_size);
        if (const error e = origin_->write(frame_flag::more, body); failed(e)) {
            origin_->roll_back();
            return e;
        }
        rest = rest.subspan(header.header_size + header.body_size);
    }
    return error::none;
}

bool rep::arm(bool for_input, bool for_output) {
    if ((for_input && has_input()) || (for_output && has_output()))
        return true;
    const bool wants_request = for_input && !is_replying();
    if (wants_request)
        requests_.arm();
    heavy_fence();
    return wants_request && requests_.settle();
}

}  // namespace

std::unique_ptr<pattern> make_rep(const pattern_environment &environment) {
    return std::make_unique<rep>(environment);
}

}  // namespace zlink
