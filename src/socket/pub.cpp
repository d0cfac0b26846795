// PUB and XPUB: a message goes to each peer that subscribes to a topic it begins with (RFC 29).
//
// Upstream: subscriptions come as in-band commands, or as messages whose frames begin with 1 or 0 (older peers, and XSUB
//           applications). Pipes are read in turn, a bounded amount in each call. One that is read to its end is armed, so that a
//           publisher that only sends hears of more.
// Notices:  XPUB tells its application of the first subscription to a topic and of the end of the last; of each with
//           ZMQ_XPUB_VERBOSE(R). Subscriptions of a pipe that goes are taken back.
#include <algorithm>
#include <limits>
#include <map>

#include "pipe/fan_out.hpp"
#include "pipe/in_band.hpp"
#include "pipe/rotation.hpp"
#include "socket/pattern.hpp"
#include "socket/subscriptions.hpp"
#include "socket/upstream_news.hpp"

namespace zlink {

namespace {

/// Beyond so many unread notices, a subscription and its end that are both unread cancel each other out.
constexpr std::size_t most_unread_pairs = 1000;

/// What one call reads from upstream: so many frames, and one more for each peer, or so many octets. A peer has its turn for what the
/// default mark lets wait.
constexpr std::size_t most_frames_at_once = 8192;
constexpr std::size_t most_octets_at_once = 1024 * 1024;
constexpr std::size_t most_frames_in_a_turn = 1024;

class publisher final : public pattern, private message_filter {
public:
    explicit publisher(const pattern_environment &environment)
        : options_(environment.options), host_(environment.host), peers_(environment.pool),
          has_news_(environment.options.type == socket_type::xpub), news_(environment.random) {}

    void attach(const pipe_end_ptr &pipe, bool is_local, bool is_inproc) override;
    void detach(pipe_end &pipe) noexcept override;
    void on_readable(pipe_end &pipe) override {
        if (!turns_.has(pipe))
            return;
        turns_.activate(pipe);
        host_.go_on_later();
    }
    void on_writable(pipe_end &) override {}
    void on_closed(pipe_end &pipe) override;
    void go_on() override;

    error send(const outgoing &frame) override;
    direct_way direct_output() noexcept override;
    error receive(frame_view &out) override;
    bool has_input() override { return !news_.is_empty(); }
    bool drops() const noexcept override { return !options_.xpub_nodrop; }
    bool has_output() override { return true; }  // what has no room is dropped, or fails with ZMQ_XPUB_NODROP
    bool arm(bool for_input, bool for_output) override;

    error apply_option(int number, byte_span value) override;
    int topics_count() const override {
        return static_cast<int>(
            std::min<std::size_t>(subscriptions_.topics(), std::numeric_limits<int>::max()));
    }

private:
    using peer_number = upstream_news::peer_number;

    bool wants(byte_span body) const noexcept override { return subscriptions_.has_match(body); }

    static peer_number number_of(const pipe_end &pipe) noexcept { return pipe.slot.mark; }

    // ZMQ_XPUB_MANUAL: the application decides what a peer is subscribed to, and is told of everything.
    bool is_manual() const noexcept {
        return has_news_ && (options_.xpub_manual || options_.xpub_manual_last_value);
    }
    bool tells_each_subscription() const noexcept { return options_.xpub_verbose || options_.xpub_verboser; }
    bool tells_each_cancel() const noexcept { return options_.xpub_verboser; }
    /// Which peer a notice is about matters only when each peer has its own.
    bool is_per_peer() const noexcept { return is_manual() || tells_each_subscription(); }

    void choose_receivers(byte_span first_frame);
    void send_welcome(pipe_end &pipe) noexcept;

    void read_upstream();
    bool arm_upstream() noexcept;
    bool read_in_turn(pipe_end &pipe);
    bool read_frame(pipe_end &pipe);
    void drop_cut_message() noexcept;
    bool has_unread(pipe_end &pipe) const noexcept { return reading_ == &pipe || pipe.has_input(); }
    bool may_read() const noexcept;
    void take_frame(pipe_end &pipe, const frame_view &frame);
    void change(pipe_end &pipe, bool is_subscribe, byte_span topic, peer_info *info);
    void tell(pipe_end &pipe, bool is_subscribe, byte_span topic, bool is_repeated, peer_info *info);
    void tell_of_leaving(pipe_end &pipe, byte_span topic, bool ends_topic);
    void tell_of_end(pipe_end &pipe, byte_span topic, peer_info *info) noexcept;
    void forget(pipe_end &pipe) noexcept;
    void take_back_subscriptions(pipe_end &pipe) noexcept;
    void end(pipe_end &pipe) noexcept;

    settings &options_;
    pattern_host &host_;
    fan_out peers_;
    subscriptions subscriptions_;  // what messages are matched against
    subscriptions requested_;      // manual: what the peers asked for
    const bool has_news_;
    upstream_news news_;
    pipe_end *last_requester_ = nullptr;  // manual: whom ZMQ_SUBSCRIBE and ZMQ_UNSUBSCRIBE are for
    std::map<peer_number, pipe_end *> by_number_;

    // Reading from upstream.
    rotation<reading_side>
        turns_;  // those in turn may have something, those that are not armed are looked at
    std::size_t frames_left_ = most_frames_at_once;
    std::size_t octets_left_ = most_octets_at_once;
    pipe_end *reading_ = nullptr;  // in the middle of a message of this pipe, or of a frame
    frame_view frame_;             // read and not yet acted on, when has_frame_: memory was short
    bool has_frame_ = false;
    peer_number next_number_ = 1;
    bool is_sending_ = false;
    bool is_blocked_ = false;        // the last send found a receiver without room (ZMQ_XPUB_NODROP)
    bool is_in_upstream_ = false;    // between the frames of a message from upstream
    bool may_subscribe_ = true;      // whether the next frame of that message may be a subscription
    bool is_behind_frames_ = false;  // what is told of is a frame of that message, and not the first
};

// ---- pipes ----

void publisher::attach(const pipe_end_ptr &pipe, bool, bool) {
    pipe->slot.mark = next_number_++;
    if (has_news_)
        by_number_.emplace(number_of(*pipe), pipe.get());
    turns_.add(*pipe);
    peers_.attach(*pipe);
    send_welcome(*pipe);
    host_.go_on_later();
}

void publisher::send_welcome(pipe_end &pipe) noexcept {
    const std::string &text = options_.xpub_welcome_message;
    if (has_news_ && !text.empty() && pipe.has_credit() && !failed(pipe.write(0, as_bytes(text))))
        pipe.publish();
}

void publisher::detach(pipe_end &pipe) noexcept {
    peers_.detach(pipe);
    forget(pipe);
}

/// A pipe whose peer has gone is forgotten once the application has had room for all its messages. What can be read of them now comes
/// before the end of its subscriptions.
void publisher::on_closed(pipe_end &pipe) {
    if (!peers_.has(pipe))
        return;
    pipe.slot.is_ending = true;
    peers_.detach(pipe);
    turns_.activate(pipe);
    bool is_read = false;
    try {
        is_read = !has_unread(pipe) || ((!reading_ || reading_ == &pipe) && read_in_turn(pipe));
    } catch (...) {
    }
    if (is_read) {
        end(pipe);
    } else {
        take_back_subscriptions(pipe);
        host_.go_on_later();
    }
}

void publisher::end(pipe_end &pipe) noexcept {
    forget(pipe);
    host_.finished(pipe);
}

void publisher::forget(pipe_end &pipe) noexcept {
    if (reading_ == &pipe) {
        drop_cut_message();
        host_.go_on_later();
    }
    take_back_subscriptions(pipe);
    if (turns_.has(pipe))
        turns_.remove(pipe);
    by_number_.erase(number_of(pipe));
}

/// Ends all subscriptions of a pipe that goes, and tells of those whose beginning was read. When memory is short the
/// application misses notices.
void publisher::take_back_subscriptions(pipe_end &pipe) noexcept {
    if (last_requester_ == &pipe)
        last_requester_ = nullptr;
    const auto end_all = [&pipe](subscriptions &those, auto &&tell) {
        try {
            those.remove_all(pipe, tell);
        } catch (...) {
        }
    };
    if (is_manual())
        end_all(requested_, [&](byte_span topic, bool) { tell_of_leaving(pipe, topic, true); });
    else
        end_all(subscriptions_, [&](byte_span topic, bool was_last) {
            tell_of_leaving(pipe, topic, was_last || tells_each_cancel());
        });
    end_all(requested_, [](byte_span, bool) {});
    end_all(subscriptions_, [](byte_span, bool) {});
}

// ---- upstream ----

void publisher::go_on() {
    read_upstream();
    frames_left_ = most_frames_at_once + turns_.size();
    octets_left_ = most_octets_at_once;
}

/// Reads from the pipes in turn, until all are read to their end for now and armed, or the application must read first, or it is enough
/// for one call.
void publisher::read_upstream() {
    while (may_read() && frames_left_ > 0 && octets_left_ > 0) {
        pipe_end *pipe = reading_ ? reading_ : turns_.current();
        if (!pipe) {
            if (!arm_upstream())
                return;
            continue;
        }
        turns_.make_current(*pipe);
        if (!read_in_turn(*pipe)) {
            if (!reading_)
                turns_.pass();
        } else if (pipe->slot.is_ending) {
            end(*pipe);
        } else {
            turns_.park_current();
        }
    }
    (void)arm_upstream();
    if (may_read() && turns_.current())
        host_.go_on_later();
}

/// Arms what looks empty. True when something came meanwhile.
bool publisher::arm_upstream() noexcept {
    if (!turns_.has_unarmed())
        return false;
    turns_.arm();
    heavy_fence();
    return turns_.settle();
}

/// Acts on what a pipe has, for a turn at most. True when it is read to its end.
bool publisher::read_in_turn(pipe_end &pipe) {
    for (std::size_t left = most_frames_in_a_turn;
         left > 0 && may_read() && frames_left_ > 0 && octets_left_ > 0; --left) {
        if (!read_frame(pipe))
            return true;
    }
    return false;
}

/// The rest of the message that is being read never comes.
void publisher::drop_cut_message() noexcept {
    reading_ = nullptr;
    has_frame_ = is_in_upstream_ = false;
    news_.drop_cut_message();
}

/// Acts on the next frame, which stays for the next time when memory is short. False when there is none.
bool publisher::read_frame(pipe_end &pipe) {
    if (!has_frame_) {
        if (!pipe.read(frame_)) {
            if (reading_)
                drop_cut_message();
            return false;
        }
        has_frame_ = true;
        reading_ = &pipe;
        --frames_left_;
        octets_left_ -= std::min(octets_left_, frame_.size);
    }
    take_frame(pipe, frame_);
    has_frame_ = false;
    if (!is_in_upstream_)
        reading_ = nullptr;
    return true;
}

/// Messages from upstream wait in their pipes when the application has as many to read as its high-water mark says.
bool publisher::may_read() const noexcept {
    const auto most = static_cast<std::size_t>(options_.receive_hwm);
    return is_in_upstream_ || most == 0 || news_.frames() < most;
}

void publisher::take_frame(pipe_end &pipe, const frame_view &frame) {
    if (frame.is_command()) {
        // What a lost peer had asked for stands until its pipe ends: messages wait there for its next connection.
        if (frame.size > 0 && frame.data[0] <= in_band::subscribe)
            change(pipe, frame.data[0] == in_band::subscribe, frame.body().subspan(1), frame.info);
        return;
    }
    const bool is_first = !is_in_upstream_;
    is_behind_frames_ = !is_first;
    const bool is_change =
        (is_first || may_subscribe_) && frame.size > 0 && frame.data[0] <= in_band::subscribe;
    if (is_change)
        change(pipe, frame.data[0] == in_band::subscribe, frame.body().subspan(1), frame.info);
    else if (has_news_)
        news_.add_frame(frame);
    is_in_upstream_ = frame.has_more();
    is_behind_frames_ = false;
    if (!is_in_upstream_)
        news_.end_message();
    if (is_first)
        may_subscribe_ = !options_.only_first_subscribe || is_change;
}

/// Where it throws, a subscription has not begun.
void publisher::change(pipe_end &pipe, bool is_subscribe, byte_span topic, peer_info *info) {
    if (pipe.slot.is_ending)  // all its subscriptions end at once
        return;
    subscriptions &those = is_manual() ? requested_ : subscriptions_;
    if (!is_subscribe) {
        const subscriptions::removal what = those.remove(topic, pipe);
        if (is_manual() || what == subscriptions::removal::last || tells_each_cancel())
            tell_of_end(pipe, topic, info);
        return;
    }
    const subscriptions::addition what = those.add(topic, pipe);
    const bool is_repeated = what == subscriptions::addition::repeated;
    if (!is_manual() && what != subscriptions::addition::first && !tells_each_subscription())
        return;
    try {
        tell(pipe, true, topic, is_repeated, info);
    } catch (...) {
        if (!is_repeated)
            (void)those.remove(topic, pipe);
        throw;
    }
}

/// When memory is short the application misses it, and goes on forwarding what nobody wants any more.
void publisher::tell_of_end(pipe_end &pipe, byte_span topic, peer_info *info) noexcept {
    try {
        tell(pipe, false, topic, false, info);
    } catch (...) {
    }
}

/// Leaves a notice for the application. When it has left very many unread, takes the opposite one back instead.
void publisher::tell(pipe_end &pipe, bool is_subscribe, byte_span topic, bool is_repeated, peer_info *info) {
    using enum upstream_news::withdrawal;
    if (!has_news_)
        return;
    if (news_.size() > most_unread_pairs && !is_per_peer() && news_.withdraw(!is_subscribe, topic, 0) != none)
        return;
    news_.add_notice(is_subscribe, topic, is_repeated, is_per_peer() ? number_of(pipe) : 0, info,
                     is_behind_frames_);
}

/// A pipe goes and its subscription with it. `ends_topic`: the application is to be told, if it knows of the beginning.
void publisher::tell_of_leaving(pipe_end &pipe, byte_span topic, bool ends_topic) {
    using enum upstream_news::withdrawal;
    if (!has_news_)
        return;
    bool was_unknown = false;
    if (!is_per_peer()) {
        was_unknown = ends_topic && news_.withdraw(true, topic, 0) != none;
    } else {
        // Where ends are told of once for all peers, another peer's beginning may have been read, or is still to be.
        const bool has_own_ends = is_manual() || tells_each_cancel();
        const peer_number ended = has_own_ends ? number_of(pipe) : 0;
        for (auto what = none; (what = news_.withdraw(true, topic, number_of(pipe), ended)) != none;)
            was_unknown = was_unknown || what == original;
        if (!has_own_ends)
            was_unknown = news_.has_ended(topic);
    }
    if (ends_topic && !was_unknown)
        news_.add_notice(false, topic, false, 0, nullptr);
}

// ---- downstream ----

error publisher::send(const outgoing &frame) {
    if (!is_sending_) {
        choose_receivers(frame.body);
        is_blocked_ = options_.xpub_nodrop && !peers_.have_room();
        if (__builtin_expect(is_blocked_, 0))
            return error::again;
        last_requester_ = options_.xpub_manual_last_value ? nullptr : last_requester_;
    }
    if (const error e = peers_.write(frame.body, frame.more, frame.owner,
                                     travels_by_reference(frame, peers_.reference_threshold()));
        failed(e))
        return e;
    is_sending_ = frame.more;
    return error::none;
}

/// A peer that has no others beside it.
direct_way publisher::direct_output() noexcept {
    pipe_end *only = peers_.only();
    if (!only || is_sending_ || is_manual() || options_.invert_matching)
        return {};
    return {only, {}, subscriptions_.has_match({}) ? nullptr : this};
}

void publisher::choose_receivers(byte_span first_frame) {
    peers_.clear_matches();
    if (__builtin_expect(options_.xpub_manual_last_value && last_requester_, 0)) {
        subscriptions_.match(first_frame, [&](pipe_end &pipe) {
            if (&pipe == last_requester_)
                peers_.match(pipe);
        });
    } else {
        subscriptions_.match(first_frame, [&](pipe_end &pipe) { peers_.match(pipe); });
    }
    if (__builtin_expect(options_.invert_matching, 0))
        peers_.invert_matches();
}

// ---- the application's side ----

error publisher::receive(frame_view &out) {
    if (!has_news_)
        return error::not_supported;
    if (news_.is_empty())
        return error::again;
    const upstream_news::news next = news_.take();
    out = next.frame;
    if (is_manual() && next.is_notice) {
        const auto at = by_number_.find(next.peer);
        last_requester_ = at != by_number_.end() && peers_.has(*at->second) ? at->second : nullptr;
    }
    // Half a mark at a time.
    if (turns_.current() && news_.frames() <= static_cast<std::size_t>(options_.receive_hwm) / 2)
        host_.go_on_later();
    return error::none;
}

bool publisher::arm(bool for_input, bool for_output) {
    if (for_input && has_input())
        return true;
    if (for_output && !is_blocked_)
        return true;
    if (for_output)
        peers_.arm_full();
    heavy_fence();
    return for_output && peers_.have_room();
}

error publisher::apply_option(int number, byte_span value) {
    if (number != ZMQ_SUBSCRIBE && number != ZMQ_UNSUBSCRIBE)
        return error::none;
    if (!is_manual())
        return error::invalid;
    if (!last_requester_)
        return error::none;
    if (number == ZMQ_SUBSCRIBE)
        subscriptions_.add(value, *last_requester_);
    else
        (void)subscriptions_.remove(value, *last_requester_);
    return error::none;
}

}  // namespace

std::unique_ptr<pattern> make_pub(const pattern_environment &environment) {
    return std::make_unique<publisher>(environment);
}

std::unique_ptr<pattern> make_xpub(const pattern_environment &environment) {
    return std::make_unique<publisher>(environment);
}

}  // namespace zlink
