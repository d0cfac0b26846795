// REQ: one request, then one reply, from the peer that was asked (RFC 28).
//
// Wire:     [request id:4]? | empty delimiter | body. The id is there with ZMQ_REQ_CORRELATE.
// Order:    the class; sending, with the envelope; replies that are too late; receiving.
#include <array>
#include <cstring>

#include "core/bytes.hpp"
#include "socket/two_way_pattern.hpp"

namespace zlink {

namespace {

class req final : public two_way_pattern {
public:
    explicit req(const pattern_environment &environment)
        : two_way_pattern(environment), request_id_(static_cast<std::uint32_t>(environment.random.next())) {}

    void attach(const pipe_end_ptr &pipe, bool is_local) override {
        two_way_pattern::attach(pipe, is_local);
        if (options_.probe_router)
            send_probe(*pipe);
    }
    void detach(pipe_end &pipe) noexcept override {
        two_way_pattern::detach(pipe);
        forget(pipe);
    }

    error send(const outgoing &frame) override;
    error receive(frame_view &out) override;
    direct_way direct_input() noexcept override { return {}; }  // there is an envelope
    direct_way direct_output() noexcept override { return {}; }
    bool has_input() override { return is_receiving() && reach_reply(); }
    bool has_output() override { return may_send() && two_way_pattern::has_output(); }
    bool arm(bool for_input, bool for_output) override {
        return two_way_pattern::arm(for_input && is_receiving(), for_output && may_send());
    }

protected:
    void finish(pipe_end &pipe) noexcept override {
        forget(pipe);
        two_way_pattern::finish(pipe);
    }

private:
    enum class stage {
        ready,     // no request under way
        asking,    // some frames of the request are written
        awaiting,  // the reply has not begun
        reading,   // the envelope of the reply is read, frames of the body follow
    };

    bool is_receiving() const noexcept { return stage_ == stage::awaiting || stage_ == stage::reading; }
    bool may_send() const noexcept { return !is_receiving() || options_.req_relaxed; }

    error begin_request(const outgoing &frame);
    error write_envelope(pipe_end &pipe) noexcept;
    bool drop_stale_replies();
    bool reach_reply();
    bool read_envelope(frame_view &frame);

    /// Once the peer asked is gone the reply may come through another pipe: the peer's next
    /// connection.
    void forget(pipe_end &pipe) noexcept {
        if (asked_ == &pipe)
            asked_ = nullptr;
    }

    stage stage_ = stage::ready;
    pipe_end *asked_ = nullptr;  // who may reply; null: anybody
    std::uint32_t request_id_;
    bool is_correlated_ = false;  // the request under way carries its id
    // The frames behind the one read last, if there are more of its message.
    bool passes_over_ = false;
};

error req::send(const outgoing &frame) {
    if (!may_send())
        return error::wrong_state;
    if (stage_ != stage::asking)
        return begin_request(frame);
    if (const error e = two_way_pattern::send(frame); failed(e))
        return e;
    if (!frame.more)
        stage_ = stage::awaiting;
    return error::none;
}

error req::begin_request(const outgoing &frame) {
    pipe_end *pipe = outgoing_.select();
    if (!pipe)
        return error::again;
    if (!drop_stale_replies())
        return error::again;
    is_correlated_ = options_.req_correlate;
    error e = write_envelope(*pipe);
    if (!failed(e))
        e = write_frame(*pipe, frame);
    if (failed(e)) {
        pipe->roll_back();
        return e;
    }
    outgoing_.commit(*pipe, frame.more);
    asked_ = pipe;
    stage_ = frame.more ? stage::asking : stage::awaiting;
    return error::none;
}

error req::write_envelope(pipe_end &pipe) noexcept {
    if (is_correlated_) {
        std::array<std::uint8_t, 4> id;
        put_u32(id.data(), ++request_id_);
        if (const error e = pipe.write(frame_flag::more, id); failed(e))
            return e;
    }
    return pipe.write(frame_flag::more, {});
}

/// A message that came before the request was sent cannot be its reply. False when there are more
/// of them than one call should drop.
bool req::drop_stale_replies() {
    frame_view stale;
    for (std::size_t left = most_frames_passed_over; left > 0; --left) {
        if (!incoming_.read(stale, *this))
            return true;
        if (!stale.has_more())
            host_.count_drop(counter::dropped_unwanted);
    }
    passes_over_ = incoming_.is_in_message();
    if (stage_ == stage::reading)
        stage_ = stage::awaiting;
    host_.go_on_later();
    return false;
}

error req::receive(frame_view &out) {
    if (!is_receiving())
        return error::wrong_state;
    if (!reach_reply())
        return error::again;
    incoming_.read(out, *this);
    if (!out.has_more())
        stage_ = stage::ready;
    return error::none;
}

/// Stands before the next frame of the reply's body when there is one. Passes over everything that
/// is no such reply, a bounded number of frames in one call.
bool req::reach_reply() {
    // A reply that was cut off by a disconnect is no reply.
    if (stage_ == stage::reading && incoming_.is_in_message())
        return true;
    stage_ = stage::awaiting;
    frame_view frame;
    for (std::size_t left = most_frames_passed_over; left > 0; --left) {
        const bool is_rest = passes_over_ && incoming_.is_in_message();
        if (!incoming_.read(frame, *this))
            return false;
        if (!is_rest && (!asked_ || incoming_.last() == asked_) && read_envelope(frame)) {
            stage_ = stage::reading;
            return true;
        }
        passes_over_ = frame.has_more();
        if (!passes_over_)
            host_.count_drop(counter::dropped_unwanted);
    }
    host_.go_on_later();
    return false;
}

/// Whether a message that begins with `frame` has the envelope of our request; leaves in `frame`
/// the last one read.
bool req::read_envelope(frame_view &frame) {
    if (is_correlated_) {
        std::array<std::uint8_t, 4> id;
        put_u32(id.data(), request_id_);
        if (!frame.has_more() || frame.size != id.size() ||
            std::memcmp(frame.data, id.data(), id.size()) != 0)
            return false;
        incoming_.read(frame, *this);
    }
    return frame.has_more() && frame.size == 0;
}

}  // namespace

std::unique_ptr<pattern> make_req(const pattern_environment &environment) {
    return std::make_unique<req>(environment);
}

}  // namespace zlink
