// PUB and XPUB: a message goes to each peer that subscribes to a topic it begins with (RFC 29).
//
// Upstream: subscriptions come as messages whose frames begin with 1 or 0, over inproc also as
//           command frames. Pipes are read in turn, a bounded amount in each call. One that is read
//           to its end is armed, so that a publisher that only sends hears of more.
// Notices:  XPUB tells its application of the first subscription to a topic and of the end of the
//           last; of each with ZMQ_XPUB_VERBOSE(R). Subscriptions of a pipe that goes are taken
//           back. Subscriptions take effect whether the notices are read or not; of those that are
//           not, very many are not kept where they say nothing new.
// Messages: wait in their pipe once as many frames of that pipe are unread as the mark says. Other
//           pipes are read on. Those that no application takes are counted: a PUB has none that
//           would, and that of an XPUB may close before.
// Map:      the pattern; pipes; upstream; downstream; the application's side.
#include <algorithm>
#include <limits>
#include <map>

#include "pipe/fan_out.hpp"
#include "pipe/in_band.hpp"
#include "pipe/rotation.hpp"
#include "socket/pattern.hpp"
#include "socket/subscriptions.hpp"
#include "socket/upstream_message.hpp"
#include "socket/upstream_news.hpp"

namespace zlink {

namespace {

/// Beyond so many unread notices, a subscription and its end that are both unread cancel each other
/// out, and what is unread already is not told again: then there are no more of them than topics
/// that peers subscribe to, or had when the application read last.
constexpr std::size_t most_unread_notices = 1000;

/// The limits of what one call reads from upstream: so many frames, and one more for each peer, or
/// so many octets. A peer has its turn for what the default mark lets wait.
constexpr std::size_t most_frames_at_once = 8192;
constexpr std::size_t most_octets_at_once = 1024 * 1024;
constexpr std::size_t most_frames_in_a_turn = 1024;

class publisher final : public plain_pattern, private message_filter, private loss_events {
public:
    explicit publisher(const pattern_environment &environment)
        : options_(environment.options), host_(environment.host),
          peers_(environment.pool, environment.counts, this),
          has_news_(environment.options.type == socket_type::xpub), news_(environment.random) {}
    ~publisher() override {
        for (std::uint64_t left = news_.messages(); left > 0; --left)
            host_.count_drop(counter::dropped_unwanted);
    }

    void attach(const pipe_end_ptr &pipe, bool is_local) override;
    void detach(pipe_end &pipe) noexcept override;
    void on_readable(pipe_end &pipe) override {
        if (!turns_.has(pipe))
            return;
        turns_.activate(pipe);
        host_.go_on_later();
    }
    void on_writable(pipe_end &pipe) override { host_.look_at_slow(pipe); }
    void on_closed(pipe_end &pipe) override;
    void go_on() override;

    error send(const outgoing &frame) override;
    direct_way direct_output() noexcept override;
    error receive(frame_view &out) override;
    bool has_input() override { return !news_.is_empty(); }
    bool drops() const noexcept override { return !options_.xpub_nodrop; }
    // what has no room is dropped, or fails with ZMQ_XPUB_NODROP
    bool has_output() override { return true; }
    bool arm(bool for_input, bool for_output) override;

    error subscribe(byte_span topic) override;
    error unsubscribe(byte_span topic) override;
    int topics_count() const override {
        return static_cast<int>(
            std::min<std::size_t>(subscriptions_.topics(), std::numeric_limits<int>::max()));
    }
    int subscribers_count() const override {
        return static_cast<int>(
            std::min<std::size_t>(subscriptions_.peers(), std::numeric_limits<int>::max()));
    }

private:
    using peer_number = upstream_news::peer_number;

    bool wants(byte_span body) const noexcept override { return subscriptions_.has_match(body); }

    void on_passed_over(pipe_end &pipe) noexcept override {
        host_.tell_slow(pipe);
        if (options_.slow_peer == slow_peer_rule::disconnect && pipe.is_peer_slow())
            host_.cut(pipe, cut_reason::too_slow);
    }

    static peer_number number_of(const pipe_end &pipe) noexcept { return pipe.slot.subscriber_number; }

    // ZMQ_XPUB_MANUAL: the application decides what a peer is subscribed to, and is told of
    // everything.
    bool is_manual() const noexcept {
        return has_news_ && (options_.xpub_manual || options_.xpub_manual_last_value);
    }
    bool tells_each_subscription() const noexcept { return options_.xpub_verbose || options_.xpub_verboser; }
    bool tells_each_cancel() const noexcept { return options_.xpub_verboser; }
    /// Which peer a notice is about matters only when each peer has its own.
    bool is_per_peer() const noexcept { return is_manual() || tells_each_subscription(); }
    /// When ends are told of once for all peers, another peer's beginning may have been read, or is
    /// still to be.
    bool has_own_ends() const noexcept { return is_manual() || tells_each_cancel(); }

    void choose_receivers(byte_span first_frame);
    void send_welcome(pipe_end &pipe) noexcept;

    enum class turn_end { has_more, is_empty, is_held_back };

    void read_upstream();
    bool arm_upstream() noexcept;
    turn_end read_in_turn(pipe_end &pipe);
    bool read_frame(pipe_end &pipe);
    void drop_cut_message() noexcept;
    bool has_unread(pipe_end &pipe) const noexcept { return reading_ == &pipe || pipe.has_input(); }
    bool may_read(const pipe_end &pipe) const noexcept;
    void note_read(peer_number peer) noexcept;
    void take_frame(pipe_end &pipe, const frame_view &frame);
    void take_news(pipe_end &pipe, std::uint8_t kind) noexcept;
    bool may_be_change(const frame_view &frame) const noexcept {
        return upstream_.may_subscribe() && frame.size > 0 && frame.data[0] <= in_band::subscribe;
    }
    void add_message_frame(pipe_end &pipe, const frame_view &frame);
    void change(pipe_end &pipe, const frame_view &frame);
    void tell(pipe_end &pipe, upstream_news::notice what);
    bool withdraw_answered(pipe_end &pipe, upstream_news::notice &what) noexcept;
    bool withdraw_subscription(pipe_end &pipe, byte_span topic, bool ends_topic) noexcept;
    void tell_of_leaving(pipe_end &pipe, byte_span topic, bool ends_topic);
    void tell_of_end(pipe_end &pipe, const upstream_news::notice &what) noexcept;
    void forget(pipe_end &pipe) noexcept;
    void take_back_subscriptions(pipe_end &pipe) noexcept;
    void end(pipe_end &pipe) noexcept;

    settings &options_;
    pattern_host &host_;
    fan_out peers_;
    subscriptions subscriptions_{true};  // what messages are matched against
    subscriptions requested_;            // manual: what the peers asked for
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
    upstream_message upstream_;  // that is read
    bool has_change_ = false;    // it has said something of subscriptions

    enum class sending : std::uint8_t {
        nothing,
        message,  // between its frames
        blocked   // nothing: the last send found a receiver without room (ZMQ_XPUB_NODROP)
    };
    sending sending_ = sending::nothing;
};

// ---- pipes ----

void publisher::attach(const pipe_end_ptr &pipe, bool) {
    pipe->slot.subscriber_number = next_number_++;
    if (has_news_)
        by_number_.emplace(number_of(*pipe), pipe.get());
    turns_.add(*pipe);
    peers_.attach(*pipe);
    send_welcome(*pipe);
    host_.go_on_later();
}

void publisher::send_welcome(pipe_end &pipe) noexcept {
    const std::string &text = options_.xpub_welcome_message;
    if (!text.empty() && pipe.has_credit() && !failed(pipe.write(0, as_bytes(text))))
        pipe.publish();
}

void publisher::detach(pipe_end &pipe) noexcept {
    peers_.detach(pipe);
    forget(pipe);
}

/// A pipe whose peer has gone is forgotten once the application has had room for all its messages.
/// All that can be read of them now comes before the end of its subscriptions.
void publisher::on_closed(pipe_end &pipe) {
    if (!peers_.has(pipe))
        return;
    pipe.slot.note_ending();
    peers_.detach(pipe);
    turns_.activate(pipe);
    bool is_read = false;
    try {
        is_read = !has_unread(pipe) ||
                  ((!reading_ || reading_ == &pipe) && read_in_turn(pipe) == turn_end::is_empty);
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

/// Ends all subscriptions of a pipe that goes, and tells of those whose beginning was read. When
/// memory is short the application misses notices.
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

/// Reads from the pipes in turn, until all are read to their end for now and armed, or the
/// application must read first, or it is enough for one call.
void publisher::read_upstream() {
    while (frames_left_ > 0 && octets_left_ > 0) {
        pipe_end *pipe = reading_ ? reading_ : turns_.current();
        if (!pipe) {
            if (!arm_upstream())
                return;
            continue;
        }
        turns_.make_current(*pipe);
        const turn_end result = read_in_turn(*pipe);
        if (result == turn_end::is_held_back) {
            pipe->slot.is_held_back = true;
            turns_.lay_current_by();
        } else if (result == turn_end::has_more) {
            if (!reading_)
                turns_.pass();
        } else if (pipe->slot.is_ending()) {
            end(*pipe);
        } else {
            turns_.park_current();
        }
    }
    (void)arm_upstream();
    if (turns_.current())
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

/// Acts on what a pipe has, for a turn at most.
publisher::turn_end publisher::read_in_turn(pipe_end &pipe) {
    for (std::size_t left = most_frames_in_a_turn; left > 0 && frames_left_ > 0 && octets_left_ > 0; --left) {
        if (!may_read(pipe))
            return turn_end::is_held_back;
        if (!read_frame(pipe))
            return turn_end::is_empty;
    }
    return turn_end::has_more;
}

/// The rest of the message that is being read never comes; or there was no memory to act on its
/// last frame.
void publisher::drop_cut_message() noexcept {
    const auto dropped = static_cast<std::uint32_t>(news_.drop_cut_message());
    const bool was_whole = has_frame_ && !frame_.is_command() && !frame_.has_more();
    if (was_whole && (dropped > 0 || (!may_be_change(frame_) && (has_news_ || !has_change_))))
        host_.count_drop(counter::dropped_unwanted);
    reading_->slot.unread_frames -= dropped;
    reading_ = nullptr;
    has_frame_ = false;
    has_change_ = false;
    upstream_.cut();
}

/// Acts on the next frame, which stays for the next time when memory is short. False when there is
/// none.
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
    if (!upstream_.is_inside())
        reading_ = nullptr;
    return true;
}

/// Messages from upstream wait in their pipe when the application has as many of it to read as its
/// high-water mark says.
bool publisher::may_read(const pipe_end &pipe) const noexcept {
    const auto most = static_cast<std::uint32_t>(options_.receive_hwm);
    return reading_ == &pipe || most == 0 || pipe.slot.unread_frames < most;
}

/// The application has read a frame of a peer, which may go on at half its mark.
void publisher::note_read(peer_number peer) noexcept {
    const auto at = by_number_.find(peer);
    if (at == by_number_.end())
        return;
    pipe_end &pipe = *at->second;
    --pipe.slot.unread_frames;
    if (!pipe.slot.is_held_back ||
        pipe.slot.unread_frames > static_cast<std::uint32_t>(options_.receive_hwm) / 2)
        return;
    pipe.slot.is_held_back = false;
    turns_.activate(pipe);
    host_.go_on_later();
}

void publisher::take_frame(pipe_end &pipe, const frame_view &frame) {
    if (frame.is_command()) {
        // The subscriptions of a lost peer stand until its pipe ends: messages wait there for its
        // next connection.
        if (frame.size > 0 && frame.data[0] <= in_band::subscribe)
            change(pipe, frame);
        else if (frame.size > 0)
            take_news(pipe, frame.data[0]);
        return;
    }
    const bool is_change = may_be_change(frame);
    if (is_change)
        change(pipe, frame);
    else if (has_news_)
        add_message_frame(pipe, frame);
    has_change_ = has_change_ || is_change;
    upstream_.pass(frame.has_more(), !options_.only_first_subscribe || is_change);
    if (upstream_.is_inside())
        return;
    news_.end_message();
    if (!std::exchange(has_change_, false) && !has_news_)
        host_.count_drop(counter::dropped_unwanted);
}

/// A peer has come, or gone. The next one gets what waits for it, and hears that this may not be
/// all.
void publisher::take_news(pipe_end &pipe, std::uint8_t kind) noexcept {
    const bool is_next = pipe.is_peer_gone();
    if (kind == in_band::gone || (kind == in_band::hello && is_next))
        pipe.note_news_taken();
    if (kind == in_band::hello && (is_next || pipe.dropped() > 0))
        peers_.begin_peer(pipe);
}

void publisher::add_message_frame(pipe_end &pipe, const frame_view &frame) {
    news_.add_frame(frame, number_of(pipe));
    ++pipe.slot.unread_frames;
}

/// When it throws, a subscription has not begun.
void publisher::change(pipe_end &pipe, const frame_view &frame) {
    if (pipe.slot.is_ending())  // all its subscriptions end at once
        return;
    subscriptions &those = is_manual() ? requested_ : subscriptions_;
    const byte_span topic = frame.body().subspan(1);
    upstream_news::notice what{.is_subscribe = frame.data[0] == in_band::subscribe,
                               .topic = topic,
                               .info = frame.info,
                               .is_in_message = !frame.is_command() && upstream_.is_inside()};
    if (!what.is_subscribe) {
        const subscriptions::removal result = those.remove(topic, pipe);
        what.is_repeated = result == subscriptions::removal::unknown;
        what.was_on = true;
        if (is_manual() || result == subscriptions::removal::last || tells_each_cancel())
            tell_of_end(pipe, what);
        return;
    }
    const subscriptions::addition result = those.add(topic, pipe);
    what.is_repeated = result == subscriptions::addition::repeated;
    what.was_on = result != subscriptions::addition::first;
    if (!is_manual() && what.was_on && !tells_each_subscription())
        return;
    try {
        tell(pipe, what);
    } catch (...) {
        if (!what.is_repeated)
            (void)those.remove(topic, pipe);
        throw;
    }
}

/// When memory is short the application misses it, and goes on forwarding what nobody wants any
/// more.
void publisher::tell_of_end(pipe_end &pipe, const upstream_news::notice &what) noexcept {
    try {
        tell(pipe, what);
    } catch (...) {
    }
}

/// Leaves a notice for the application, unless it has left very many unread, and would learn
/// nothing new from it in the end.
void publisher::tell(pipe_end &pipe, upstream_news::notice what) {
    if (!has_news_ || (news_.notices() > most_unread_notices && !withdraw_answered(pipe, what)))
        return;
    what.peer = is_per_peer() ? number_of(pipe) : 0;
    news_.add_notice(what);
}

/// Whether the application is to be told although it has very much to read. Takes back unread
/// notices that are answered by it.
bool publisher::withdraw_answered(pipe_end &pipe, upstream_news::notice &what) noexcept {
    using enum upstream_news::withdrawal;
    if (!what.is_subscribe)
        return !what.is_repeated && withdraw_subscription(pipe, what.topic, true);
    if (!is_per_peer())
        return news_.withdraw(false, what.topic, 0) == none;
    const peer_number ended = has_own_ends() ? number_of(pipe) : 0;
    if (news_.has_newest(true, what.topic, number_of(pipe), ended))
        return false;
    // The application does not hear of the end, so this changes nothing for it; but it may want to
    // do something for the peer.
    if (news_.withdraw(false, what.topic, ended, ended) == original)
        what.is_repeated = what.was_on = true;
    return true;
}

/// A peer's subscription has ended, and with it the last of all where it `ends_topic`. Takes back
/// the notices of it that are unread. Whether the application knows of it then, and is to be told.
bool publisher::withdraw_subscription(pipe_end &pipe, byte_span topic, bool ends_topic) noexcept {
    using enum upstream_news::withdrawal;
    if (!is_per_peer())
        return ends_topic && news_.withdraw(true, topic, 0) == none;
    if (!has_own_ends() && ends_topic)
        return news_.withdraw_subscribes(topic);
    const peer_number ended = has_own_ends() ? number_of(pipe) : 0;
    bool was_unknown = false;
    for (auto what = none; (what = news_.withdraw(true, topic, number_of(pipe), ended)) != none;)
        was_unknown = was_unknown || what == original;
    return ends_topic && !was_unknown;
}

/// A pipe goes and its subscription with it. `ends_topic`: the application is to be told, if it
/// knows of the beginning.
void publisher::tell_of_leaving(pipe_end &pipe, byte_span topic, bool ends_topic) {
    if (has_news_ && withdraw_subscription(pipe, topic, ends_topic))
        news_.add_notice({.topic = topic, .was_on = true});
}

// ---- downstream ----

error publisher::send(const outgoing &frame) {
    if (sending_ != sending::message) {
        choose_receivers(frame.body);
        if (__builtin_expect(options_.xpub_nodrop && !peers_.have_room(), 0)) {
            sending_ = sending::blocked;
            return error::again;
        }
        sending_ = sending::nothing;
        last_requester_ = options_.xpub_manual_last_value ? nullptr : last_requester_;
    }
    if (const error e = peers_.write(frame.body, frame.more, frame.owner,
                                     travels_by_reference(frame, peers_.reference_threshold()));
        failed(e))
        return e;
    sending_ = frame.more ? sending::message : sending::nothing;
    return error::none;
}

/// A peer that has no others beside it.
direct_way publisher::direct_output() noexcept {
    pipe_end *only = peers_.only();
    if (!only || sending_ == sending::message || is_manual() || options_.invert_matching)
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
    if (!next.is_notice)
        note_read(next.peer);
    return error::none;
}

bool publisher::arm(bool for_input, bool for_output) {
    if (for_input && has_input())
        return true;
    if (for_output && sending_ != sending::blocked)
        return true;
    if (for_output)
        peers_.arm_full();
    heavy_fence();
    return for_output && peers_.have_room();
}

/// For the subscriber whose request was received last (ZMQ_XPUB_MANUAL).
error publisher::subscribe(byte_span topic) {
    if (!is_manual())
        return error::invalid;
    if (last_requester_)
        subscriptions_.add(topic, *last_requester_);
    return error::none;
}

error publisher::unsubscribe(byte_span topic) {
    if (!is_manual())
        return error::invalid;
    if (last_requester_)
        (void)subscriptions_.remove(topic, *last_requester_);
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
