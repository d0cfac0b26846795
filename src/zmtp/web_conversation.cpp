// A conversation that is led inside of WebSocket. See web_conversation.hpp.
//
// Map: the upgrade; the handshake inside; traffic; time; the end.
#include "zmtp/web_conversation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "core/finally.hpp"
#include "core/stranger.hpp"
#include "zmtp/curve_frame.hpp"
#include "zmtp/mechanism.hpp"
#include "zmtp/peer.hpp"
#include "zmtp/web_close.hpp"

namespace zlink {

namespace {

using action = conversation::action;

constexpr std::string_view protocol_without_mechanism = "ZWS2.0";

// When to look again whether what was said has been written, so that more may be.
constexpr std::chrono::milliseconds patience{100};

framing_zws::form form_of(const settings &options, bool is_server) {
    framing_zws::form form{.is_client = !is_server, .is_raw = options.is_raw()};
    // Also where octets have no frames elsewhere: here messages have.
    if (options.max_message_size >= 0)
        form.max_body = static_cast<std::uint64_t>(options.max_message_size);
    // A subscription may be as long as a message.
    if (options.has_subscribers())
        form.max_command = std::max(form.max_command, form.max_body);
    // Sealed commands are judged by the mechanism, once they are open.
    if (options.mechanism == mechanism_kind::curve)
        form.max_body = most_octets_in_curve_frame(form.max_body, form.max_command);
    return form;
}

/// For a person; empty where nobody knows what a peer speaks that began so, or it is HTTP.
std::string describe_stranger_of_web(byte_span start) {
    switch (protocol_of(start)) {
    case spoken::tls:
        return "the peer speaks TLS, not HTTP; for WebSocket inside TLS there is wss://";
    case spoken::zmtp:
        return "the peer speaks ZMTP, not HTTP; for ZMTP without WebSocket there is tcp://, inside TLS "
               "tls://";
    case spoken::ssh:
        return "the peer speaks SSH, not HTTP";
    default:
        return {};
    }
}

}  // namespace

web_conversation::web_conversation(const settings &options, bool is_server, const web_place &place,
                                   web_memory *memory)
    : options_(options), is_server_(is_server), place_(place), memory_(memory),
      messages_(form_of(options, is_server)), words_(form_of(options, is_server)),
      heartbeat_(options.heartbeat_interval_ms, options.heartbeat_timeout_ms, 0) {
    framing_ = &messages_;
}

action web_conversation::resume(const event &what) {
    try {
        return step(what);
    } catch (const std::bad_alloc &) {
        closing_.is_short_of_memory = true;
        return end(failure_kind::none, 0);
    }
}

action web_conversation::step(const event &what) {
    now_ = std::max(now_, what.now);
    if (stage_ == stage::closed)
        return closing_;
    switch (what.kind) {
    case event_kind::start:
        return stage_ == stage::fresh ? start() : action{};
    case event_kind::octets:
        return on_octets(what.bytes);
    case event_kind::command:
        if (stage_ != stage::traffic)
            return {};
        if (web_event::is_one(what.bytes))
            return on_event(what.bytes);
        return follow(inner_->resume({event_kind::command, what.bytes, now_}));
    case event_kind::time:
        return on_time();
    case event_kind::verdict:
    case event_kind::turn:
        if (stage_ != stage::put_off)
            return {};
        stage_ = stage::handshake;
        return follow(inner_->resume(what));
    }
    return {};
}

// ---- the upgrade ----

action web_conversation::start() {
    if (!options_.is_raw()) {
        const auto wanted = make_mechanism(options_, is_server_);
        if (!wanted)
            return end(failure_kind::mechanism_mismatch, protocol_errors::mechanism_mismatch, false);
        choose_protocols(wanted->name());
    }
    stage_ = stage::upgrade;
    head_ = std::make_unique<http_head>();
    if (options_.handshake_interval_ms > 0)
        handshake_end_ = now_ + std::chrono::milliseconds(options_.handshake_interval_ms);
    if (is_server_)
        return {};
    if (!is_sound(place_, options_.web_origin))
        return end(failure_kind::protocol, protocol_errors::websocket, false);
    key_ = make_web_key();
    say(make_request(place_, options_.web_origin, key_, protocols_));
    return {};
}

/// When security is asked for, there is no other name for it.
void web_conversation::choose_protocols(std::string_view mechanism) {
    const bool is_null = options_.takes_anybody();
    const bool avoids_slash =
        !is_server_ && memory_ && std::exchange(memory_->refuses_names_with_slash, false);
    if (!is_null || !avoids_slash)
        protocols_.push_back(std::string(protocol_without_mechanism).append("/").append(mechanism));
    if (is_null)
        protocols_.emplace_back(protocol_without_mechanism);
}

void web_conversation::remember(const answer_judgement &answer) {
    if (!memory_ || options_.is_raw())
        return;
    const bool has_offered_slash = protocols_.front() != protocol_without_mechanism;
    memory_->refuses_names_with_slash =
        has_offered_slash ? answer.status == http_status::bad_request : answer.is_good;
}

// Octets before traffic. Uses up no more than the handshake needs.
action web_conversation::on_octets(byte_span in) {
    byte_span rest = in;
    action result;
    if (stage_ == stage::upgrade) {
        rest = rest.subspan(head_->take(rest));
        if (head_->status() != http_head::state::unfinished) {
            std::string stranger = describe_stranger_of_web(start_of_head(in));
            result = on_head();
            if (!stranger.empty())
                reason_ = std::move(stranger);
        }
    }
    if (stage_ == stage::handshake && !rest.empty())
        result = on_handshake(rest);
    if (stage_ == stage::traffic)
        decoder_.reset();
    result.consumed = in.size() - rest.size();
    return result;
}

/// Judges what a peer says first. An octet that HTTP cannot begin with is not kept.
byte_span web_conversation::start_of_head(byte_span in) const noexcept {
    return head_->text().empty() ? in : as_bytes(head_->text());
}

action web_conversation::on_head() {
    if (head_->status() == http_head::state::refused && !is_server_)
        return refuse_answer(head_->refusal() == http_status::too_large
                                 ? "the answer is too long"
                                 : "the answer is not one of HTTP/1.1");
    if (head_->status() == http_head::state::refused)
        return refuse(head_->refusal(), head_->refusal() == http_status::too_large
                                            ? "The request is too long."
                                            : "This is not a request of HTTP.");
    return is_server_ ? on_request() : on_answer();
}

action web_conversation::on_request() {
    const request_judgement request =
        judge_request(head_->text(), place_.path, options_.web_origin, protocols_);
    if (request.status != http_status::switching_protocols)
        return refuse(request.status, request.why);
    say(make_answer(request.key, request.protocol));
    return enter_handshake(request.protocol);
}

action web_conversation::on_answer() {
    const answer_judgement answer = judge_answer(head_->text(), key_, protocols_);
    remember(answer);
    if (answer.is_good)
        return enter_handshake(answer.protocol);
    if (answer.status == 0)
        return refuse_answer("the answer is not one of HTTP/1.1");
    if (answer.status == http_status::switching_protocols)
        return refuse_answer("the web server's answer does not grant what was asked for");
    return refuse_answer("the web server answered with " + std::to_string(answer.status));
}

action web_conversation::refuse(int status, std::string_view why) {
    say(make_refusal(status, why));
    reason_ = "answered with " + std::to_string(status) + ": " + std::string(why);
    return end(failure_kind::protocol, protocol_errors::websocket);
}

/// A client that refuses has nothing to say.
action web_conversation::refuse_answer(std::string why) {
    reason_ = std::move(why);
    return end(failure_kind::protocol, protocol_errors::websocket);
}

// ---- the handshake inside ----

action web_conversation::enter_handshake(std::string_view protocol) {
    stage_ = stage::handshake;
    head_.reset();
    if (options_.is_raw())
        inner_ = make_raw_conversation(options_);
    else
        inner_ = std::make_unique<peer>(options_, is_server_,
                                        protocol == protocol_without_mechanism ? peer::first_words::identity
                                                                               : peer::first_words::handshake,
                                        &messages_);
    info_ = block_ref::share(&inner_->info());
    decoder_ = std::make_unique<decoder_zws>(zws_form{.is_client = !is_server_, .max_body = max_command_size},
                                             nullptr, true);
    return follow(inner_->resume({event_kind::start, {}, now_}));
}

/// Message by message, up to the one that ends the handshake, has to be judged, or waits for its
/// turn.
action web_conversation::on_handshake(byte_span &in) {
    action result;
    std::vector<std::uint8_t> decoded(decoder_->lead(in.size()) + in.size());
    const finally wipe([&] { wipe_octets(decoded); });
    while (!in.empty() && stage_ == stage::handshake) {
        const auto step = decoder_->decode(in, decoded.data());
        in = in.subspan(step.taken);
        const byte_span octets = byte_span(decoded).first(step.octets);
        if (decoder_->has_given_event()) {
            frame_header header;
            get_frame_header(octets.data(), octets.size(), header);
            result = on_event(octets.subspan(header.header_size));
            continue;
        }
        if (!octets.empty())
            result = follow(inner_->resume({event_kind::octets, octets, now_}));
        block_ref owner;
        if (const byte_span frame = decoder_->take_frame(owner); !frame.empty())
            result = follow(inner_->resume({event_kind::octets, frame, now_}));
    }
    return result;
}

/// Does what the conversation inside says.
action web_conversation::follow(action inside) {
    if (stage_ == stage::traffic) {
        settle();
    } else {
        take_inner_output();
    }
    if (inside.kind == action_kind::authenticate || inside.kind == action_kind::costly) {
        stage_ = stage::put_off;
    } else if (inside.kind == action_kind::established) {
        stage_ = stage::traffic;
        is_established_ = true;
        if (inner_->framing().numbers_frames())
            framing_ = &inner_->framing();
        heartbeat_.start(now_);
    } else if (inside.kind == action_kind::close) {
        take_inner_output();
        const bool is_refusal = inside.failure == failure_kind::authentication ||
                                inside.failure == failure_kind::mechanism_mismatch;
        const std::uint16_t status = inside.failure == failure_kind::none ? web_status::internal_error
                                     : is_refusal                         ? web_status::policy
                                                                          : web_status::protocol_error;
        return close_with(status, inside.failure, inside.detail, inside.may_retry);
    }
    return inside;
}

void web_conversation::take_inner_output() {
    byte_span octets = has_said_close_ ? byte_span() : byte_span(inner_->output());
    for (frame_header header; get_frame_header(octets.data(), octets.size(), header);) {
        const byte_span body = octets.subspan(header.header_size, static_cast<std::size_t>(header.body_size));
        if (header.is_command())
            words_.encode_command(body, output_);
        else
            words_.encode(header.flags, body, output_);
        octets = octets.subspan(header.header_size + body.size());
    }
    inner_->drop_output();
}

// ---- traffic ----

action web_conversation::on_event(byte_span event) {
    const byte_span data = event.subspan(2);
    switch (event[1]) {
    case web_event::ping:
        ping_to_answer_.assign(data.begin(), data.end());
        has_ping_to_answer_ = true;
        settle();
        return {};
    case web_event::pong:
        return on_pong(data);
    case web_event::close:
        return on_close(data);
    default:
        return close_with(data.size() == 2 ? get_u16(data.data()) : web_status::protocol_error,
                          failure_kind::protocol, protocol_errors::websocket);
    }
}

action web_conversation::on_pong(byte_span number) {
    action result;
    result.round_trip = heartbeat_.note_pong(now_, get_u32(number.data()));
    return result;
}

action web_conversation::on_close(byte_span payload) {
    if (const std::uint16_t status = judge_close(payload))
        return close_with(status, failure_kind::protocol, protocol_errors::websocket);
    if (!has_said_close_)
        words_.encode_control(web_opcode::close, payload.first(std::min<std::size_t>(payload.size(), 2)),
                              output_);
    has_said_close_ = true;
    if (stage_ == stage::traffic && is_leave(payload))
        return end(failure_kind::none, 0);
    reason_ = stage_ == stage::traffic ? "the peer closed the WebSocket "
                                       : "the peer closed during the handshake of WebSocket, ";
    reason_ += describe_close(payload);
    return end(failure_kind::peer_closed, 0);
}

/// Says what is owed, once all that was said before is written: however much a peer asks, there is
/// no more than one answer to each kind.
void web_conversation::settle() {
    if (commands_.empty() && inner_)
        commands_.swap(inner_->commands());
    if (has_said_close_ || !owes_something())
        return;
    if (!output_.empty() || (inner_ && !inner_->commands().empty())) {
        retry_at_ = now_ + patience;
        return;
    }
    take_inner_output();
    if (std::exchange(has_ping_to_answer_, false))
        words_.encode_control(web_opcode::pong, ping_to_answer_, output_);
    if (std::exchange(owes_ping_, false)) {
        std::array<std::uint8_t, ping_number_size> number;
        put_u32(number.data(), heartbeat_.number_next());
        words_.encode_control(web_opcode::ping, number, output_);
    }
}

// ---- time ----

action web_conversation::on_time() {
    if (stage_ == stage::traffic) {
        switch (heartbeat_.check(now_)) {
        case heartbeat::verdict::quiet:
            break;
        case heartbeat::verdict::dead:
            return close_with(web_status::internal_error, failure_kind::peer_dead, 0);
        case heartbeat::verdict::ping:
            owes_ping_ = true;
            break;
        }
        settle();
        return {};
    }
    if (now_ < handshake_end_) {
        settle();
        return {};
    }
    if (is_shaking_hands())
        return close_with(web_status::policy, failure_kind::handshake_timeout, 0);
    return end(failure_kind::handshake_timeout, 0);
}

conversation::time_point web_conversation::deadline() const noexcept {
    if (stage_ == stage::fresh || stage_ == stage::closed)
        return time_point::max();
    const time_point end = stage_ == stage::traffic ? heartbeat_.deadline() : handshake_end_;
    return owes_something() && !has_said_close_ ? std::min(end, retry_at_) : end;
}

void web_conversation::note_traffic(time_point now) noexcept {
    now_ = std::max(now_, now);
    heartbeat_.note_traffic(now);
}

void web_conversation::note_output_held_up(time_point now) noexcept { heartbeat_.note_held_up(now); }

/// A PING may stand behind what was written; then it is not out yet.
void web_conversation::note_output_written(time_point now) noexcept {
    if (owes_ping_)
        heartbeat_.note_held_up(now);
    else
        heartbeat_.note_written(now);
}

// ---- the end ----

void web_conversation::say_last_words() noexcept {
    if (!is_shaking_hands() && stage_ != stage::traffic)
        return;
    try {
        say_close(web_status::normal);
    } catch (const std::bad_alloc &) {  // then the stream ends without
    }
}

void web_conversation::say_close(std::uint16_t status) {
    if (!has_said_close_)
        words_.encode_close(status, output_);
    has_said_close_ = true;
}

action web_conversation::close_with(std::uint16_t status, failure_kind failure, protocol_error detail,
                                    bool may_retry) {
    std::array<std::uint8_t, 2> octets;
    put_u16(octets.data(), status);
    if (failure == failure_kind::peer_dead)
        reason_ = "the peer does not answer Pings";
    else if (!has_said_close_)
        reason_ = "closed the WebSocket " + describe_close(octets);
    if (inner_ && !inner_->reason().empty())
        reason_ = inner_->reason();
    say_close(status);
    return end(failure, detail, may_retry);
}

action web_conversation::end(failure_kind failure, protocol_error detail, bool may_retry) {
    stage_ = stage::closed;
    is_established_ = false;
    closing_.failure = failure;
    closing_.detail = detail;
    closing_.may_retry = may_retry;
    return closing_;
}

std::unique_ptr<conversation> make_web_conversation(const settings &options, bool is_server,
                                                    const web_place &place, web_memory *memory) {
    return std::make_unique<web_conversation>(options, is_server, place, memory);
}

}  // namespace zlink
