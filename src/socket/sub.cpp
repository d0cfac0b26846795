// SUB and XSUB: subscribe at every publisher, receive from all in turn (RFC 29).
//
// Wire:     a subscription goes out as an in-band command; to a publisher that is away with the
//           whole set, once it is there. XSUB's other messages, and messages of several frames, go
//           to all publishers as they are.
// Filter:   publishers filter. SUB looks again, as what it no longer wants may be under way; XSUB
//           does not.
// Order:    the class; pipes; upstream: subscriptions and other messages; downstream: messages that
//           match.
#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "pipe/fair_queue.hpp"
#include "pipe/fan_out.hpp"
#include "pipe/in_band.hpp"
#include "socket/pattern.hpp"
#include "socket/upstream_message.hpp"

namespace zlink {

namespace {

class subscriber final : public plain_pattern, private message_filter {
public:
    explicit subscriber(const pattern_environment &environment)
        : options_(environment.options), host_(environment.host), set_(environment.subscriptions),
          publishers_(environment.pool, environment.counts),
          is_sub_(environment.options.type == socket_type::sub) {}

    void attach(const pipe_end_ptr &pipe, bool is_local) override;
    void detach(pipe_end &pipe) noexcept override {
        publishers_.detach(pipe);
        incoming_.detach(pipe);
    }
    void on_readable(pipe_end &pipe) override { incoming_.activate(pipe); }
    void on_writable(pipe_end &) override {}
    void on_closed(pipe_end &pipe) override {
        if (!incoming_.has(pipe))
            return;
        publishers_.detach(pipe);
        if (incoming_.end(pipe, *this))
            host_.finished(pipe);
    }

    error send(const outgoing &frame) override;
    error receive(frame_view &out) override { return next_frame(out) ? error::none : error::again; }
    direct_way direct_input() noexcept override {
        return {incoming_.only(), {}, !is_sub_ || wants_all() ? nullptr : this};
    }
    bool has_input() override;
    bool drops() const noexcept override { return true; }
    bool has_output() override { return !is_sub_; }
    bool arm(bool for_input, bool for_output) override;

    error subscribe(byte_span topic) override { return is_sub_ ? change(true, topic) : error::invalid; }
    error unsubscribe(byte_span topic) override { return is_sub_ ? change(false, topic) : error::invalid; }
    int topics_count() const override {
        return static_cast<int>(std::min<std::size_t>(set_->size(), std::numeric_limits<int>::max()));
    }

    // For the fair queue.
    static constexpr bool passes_messages_over = true;
    void on_command(pipe_end &pipe, const frame_view &command) noexcept {
        if (in_band::is_gap(command.body()))
            host_.tell_gap(pipe, command.info, in_band::lost_in(command.body()));
    }
    void on_end(pipe_end &pipe) noexcept { host_.finished(pipe); }

private:
    bool next_frame(frame_view &out);
    /// Whether the next frame belongs to a message that is not wanted.
    bool is_passing_over() const noexcept { return passes_over_ && incoming_.is_in_message(); }
    bool wants(byte_span body) const noexcept override {
        return !is_sub_ || set_->matches(body) != options_.invert_matching;
    }
    bool wants_all() const noexcept { return !options_.invert_matching && set_->matches({}); }
    error change(bool is_subscribe, byte_span topic);
    error send_to_all(const outgoing &frame, bool changes) noexcept;

    settings &options_;
    pattern_host &host_;
    std::shared_ptr<subscription_set> set_;
    fair_queue incoming_;
    fan_out publishers_;
    const bool is_sub_;
    upstream_message upstream_;  // that is sent
    // the frames behind the one read last, if there are more of its message
    bool passes_over_ = false;
};

bool is_change(byte_span body) noexcept { return !body.empty() && body[0] <= in_band::subscribe; }

// ---- pipes ----

void subscriber::attach(const pipe_end_ptr &pipe, bool) {
    std::vector<std::uint8_t> command;
    incoming_.attach(*pipe);
    pipe->want_gaps(options_.asks_for_gaps());
    set_->with_lock([&](const subscription_set::topics &topics) {
        publishers_.attach(*pipe);
        if (!pipe->is_followed())
            return;
        topics.for_each([&](byte_span topic) {
            command.assign(1, in_band::subscribe);
            command.insert(command.end(), topic.begin(), topic.end());
            if (failed(pipe->write(frame_flag::command, command)))
                throw std::bad_alloc();
        });
        pipe->publish();
    });
}

// ---- upstream ----

/// Changes the set and tells all publishers. Repeated subscriptions go out too: an XPUB may want to
/// see each.
error subscriber::change(bool is_subscribe, byte_span topic) {
    std::vector<std::uint8_t> command(1 + topic.size());
    command.front() = is_subscribe ? in_band::subscribe : in_band::cancel;
    std::ranges::copy(topic, command.begin() + 1);
    error result = error::none;
    set_->with_lock([&](subscription_set::topics &topics) {
        if (is_subscribe)
            topics.add(topic);
        else if (!topics.remove(topic) && !options_.xsub_verbose_unsubscribe)
            return;
        // A subscription is made with all or with none; its end need not reach those that memory is
        // too short for.
        publishers_.for_each([&](pipe_end &pipe) {
            if (!pipe.is_followed())
                return;
            if (const error e = pipe.write(frame_flag::command, command); failed(e) && is_subscribe)
                result = e;
        });
        if (failed(result))
            topics.remove(topic);
        publishers_.for_each([&](pipe_end &pipe) {
            if (failed(result))
                pipe.roll_back();
            else
                pipe.publish();
        });
    });
    return result;
}

error subscriber::send(const outgoing &frame) {
    if (is_sub_)
        return error::not_supported;
    const bool is_first = !upstream_.is_inside();
    const bool changes = upstream_.may_subscribe() && is_change(frame.body);
    if (is_first && changes && !frame.more)
        return change(frame.body[0] == in_band::subscribe, frame.body.subspan(1));
    if (is_first) {
        publishers_.clear_matches();
        publishers_.match_all();
    }
    error e = error::none;
    if (changes) {
        set_->with_lock([&](subscription_set::topics &topics) {
            // A frame that was not sent is sent again: it must not count twice.
            const byte_span topic = frame.body.subspan(1);
            const bool is_subscribe = frame.body[0] == in_band::subscribe;
            if (is_subscribe)
                topics.add(topic);
            e = send_to_all(frame, changes);
            if (is_subscribe == failed(e))
                topics.remove(topic);
        });
    } else {
        e = send_to_all(frame, changes);
    }
    return e;
}

error subscriber::send_to_all(const outgoing &frame, bool changes) noexcept {
    const error e = publishers_.write(frame.body, frame.more, frame.owner,
                                      travels_by_reference(frame, publishers_.reference_threshold()));
    if (!failed(e))
        upstream_.pass(frame.more, !options_.only_first_subscribe || changes);
    return e;
}

// ---- downstream ----

/// Whole messages that are not wanted are passed over, a bounded number of frames in one call.
inline bool subscriber::next_frame(frame_view &out) {
    if (incoming_.is_in_message() && !passes_over_ && incoming_.read(out, *this))
        return true;
    for (std::size_t left = most_frames_passed_over; left > 0; --left) {
        const bool is_rest = is_passing_over();
        if (!incoming_.read(out, *this))
            return false;
        passes_over_ = is_rest || !wants(out.body());
        if (__builtin_expect(!passes_over_, 1))
            return true;
        if (!is_rest)
            host_.count_drop(counter::dropped_filtered_late);
    }
    host_.go_on_later();
    return false;
}

bool subscriber::has_input() {
    if (incoming_.is_in_message() && !passes_over_)
        return true;
    frame_view frame;
    if (!next_frame(frame))
        return false;
    incoming_.put_back(frame);
    return true;
}

bool subscriber::arm(bool for_input, bool for_output) {
    if ((for_input && has_input()) || (for_output && has_output()))
        return true;
    if (for_input)
        incoming_.arm();
    heavy_fence();
    return for_input && incoming_.settle();
}

}  // namespace

std::unique_ptr<pattern> make_sub(const pattern_environment &environment) {
    return std::make_unique<subscriber>(environment);
}

std::unique_ptr<pattern> make_xsub(const pattern_environment &environment) {
    return std::make_unique<subscriber>(environment);
}

}  // namespace zlink
