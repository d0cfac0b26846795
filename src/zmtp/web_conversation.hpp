// A conversation over WebSocket: the upgrade of an HTTP connection, then one of the others, each of
// whose frames is a message.
//
// Flow:     that of every conversation. The conversation inside is led as a driver would lead it:
//           what arrives is decoded first, what it says is put into messages.
// Wire:     RFC 6455; RFC 45/ZWS 2.0. "ZWS2.0/NULL": the commands of the mechanism, then traffic.
//           "ZWS2.0": the routing id each way, then traffic without commands; only where no
//           security is asked for. Peers that do not speak ZMTP name no sub-protocol.
// Answers:  Pings, of which the latest counts, so that no more than one Pong waits to be written;
//           Close, with the same; and what breaks the rules, with the status that says so.
// Memory:   servers that read the field strictly refuse an offer with a name that has a slash in
//           it, with 400. The attempt behind such a refusal offers "ZWS2.0" alone, and so does
//           every one after a success of that; any other offers both.
// Time:     one limit for the upgrade and the handshake. Heartbeats are Pings, each with a number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "zmtp/conversation.hpp"
#include "zmtp/decoder_zws.hpp"
#include "zmtp/framing_zws.hpp"
#include "zmtp/heartbeat.hpp"
#include "zmtp/http_upgrade.hpp"

namespace zlink {

class web_conversation final : public conversation {
public:
    /// `options` must outlive it. Throws bad_alloc.
    web_conversation(const settings &options, bool is_server, const web_place &place,
                     web_memory *memory = nullptr);

    action resume(const event &what) override;
    time_point deadline() const noexcept override;
    void note_traffic(time_point now) noexcept override;
    void note_output_held_up(time_point now) noexcept override;
    void note_output_written(time_point now) noexcept override;
    void say_last_words() noexcept override;
    credentials shown() const override { return inner_->shown(); }
    heartbeat_answers answers() const noexcept override { return heartbeat_.answers(); }
    std::string reason() const override { return reason_; }

private:
    enum class stage {
        fresh,
        upgrade,
        handshake,
        put_off,  // until there is a verdict, or its turn comes: the conversation inside has asked
        traffic,
        closed
    };
    bool is_shaking_hands() const noexcept { return stage_ == stage::handshake || stage_ == stage::put_off; }

    action step(const event &what);
    action start();
    void choose_protocols(std::string_view mechanism);
    void remember(const answer_judgement &answer);
    action on_octets(byte_span in);
    byte_span start_of_head(byte_span in) const noexcept;
    action on_head();
    action on_request();
    action on_answer();
    action enter_handshake(std::string_view protocol);
    action on_handshake(byte_span &in);
    action follow(action inside);
    action on_event(byte_span event);
    action on_pong(byte_span number);
    action on_close(byte_span payload);
    action on_time();

    void take_inner_output();
    void settle();
    bool owes_something() const noexcept {
        return has_ping_to_answer_ || owes_ping_ || (inner_ && inner_->has_words());
    }
    void say_close(std::uint16_t status);
    void say(std::string_view text) { output_.insert(output_.end(), text.begin(), text.end()); }
    action refuse(int status, std::string_view why);
    action refuse_answer(std::string why);
    action close_with(std::uint16_t status, failure_kind failure, protocol_error detail,
                      bool may_retry = true);
    action end(failure_kind failure, protocol_error detail, bool may_retry = true);

    // Constant after construction
    const settings &options_;
    const bool is_server_;
    const web_place place_;
    web_memory *const memory_;
    const framing_zws messages_;  // what the writer of messages encodes with
    const framing_zws words_;     // what this conversation encodes with, on its own thread
    std::vector<std::string> protocols_;

    stage stage_ = stage::fresh;
    action closing_{action_kind::close};
    std::string reason_;
    time_point now_{};
    time_point handshake_end_ = time_point::max();
    heartbeat heartbeat_;

    std::unique_ptr<http_head> head_;  // until the upgrade
    std::string key_;                  // a client's
    std::unique_ptr<conversation> inner_;
    std::unique_ptr<decoder_zws> decoder_;  // until there is traffic

    // Words to be said when all has been written that was said before: either may be owed without
    // the other.
    bool owes_ping_ = false;
    bool has_ping_to_answer_ = false;
    std::vector<std::uint8_t> ping_to_answer_;
    time_point retry_at_{};
    bool has_said_close_ = false;
};

}  // namespace zlink
