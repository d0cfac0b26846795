// Fuzz target: a whole conversation over WebSocket, from the request or the answer through traffic.
// The octets choose the side, the socket type, how the stream is cut and when time passes; it has
// to end in one piece with bounded output.
//
// Input:    options:1 | pieces: (size:1 | octets)*.
//           A size of 0 lets time pass. A bit of the options puts a good request or answer in
//           front, another one a good READY too, so that a random start gets past them.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <string>

#include "pieces.hpp"

#include "core/invariant.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/web_conversation.hpp"

using namespace zlink;

namespace {

constexpr std::size_t max_output = 4096;

class driven_conversation {
public:
    explicit driven_conversation(std::uint8_t options) : is_server_(options & 8) {
        options_.type = static_cast<socket_type>((options >> 4) % 12);
        options_.heartbeat_interval_ms = options & 1 ? 50 : 0;
        options_.max_message_size = options & 1 ? 100 : -1;
        machine_ = make_conversation(options_, is_server_, &place_);
        perform(machine_->resume({conversation::event_kind::start, {}, now_}));
        if (options & 2)
            feed_text(is_server_ ? make_request(place_, "", make_web_key(), protocols()) : answer());
        if ((options & 6) == 6) {
            std::vector<std::uint8_t> ready;
            const framing_zws other({.is_client = is_server_});
            other.encode_command(as_bytes("\5READY"), ready);
            feed(ready);
        }
    }

    void feed(byte_span arrived) {
        machine_->note_traffic(now_);
        (machine_->is_established() ? undecoded_ : input_).append(as_text(arrived));
        while (!is_closed_ && step())
            ;
    }
    void pass() {
        now_ += std::chrono::milliseconds(20);
        if (!is_closed_ && machine_->deadline() <= now_)
            perform(machine_->resume({conversation::event_kind::time, {}, now_}));
        machine_->output().clear();
    }
    // However it went, a closed machine stays closed and one that never got through is closed by
    // the clock.
    void end() {
        machine_->say_last_words();
        now_ += std::chrono::hours(1);
        const bool was_established = machine_->is_established();
        const auto last = machine_->resume({conversation::event_kind::time, {}, now_});
        ZLINK_INVARIANT(was_established || last.kind == conversation::action_kind::close);
        ZLINK_INVARIANT(!is_closed_ || last.failure == failure_);
    }

private:
    std::vector<std::string> protocols() const {
        return options_.is_raw() ? std::vector<std::string>{} : std::vector<std::string>{"ZWS2.0/NULL"};
    }
    std::string answer() {
        const std::string_view said = as_text(machine_->output());
        const std::size_t key = said.find("Key: ");
        return make_answer(said.substr(key + 5, 24), options_.is_raw() ? "" : "ZWS2.0/NULL");
    }
    void feed_text(const std::string &text) { feed(as_bytes(text)); }

    bool step() {
        if (!machine_->is_established()) {
            const auto result = machine_->resume({conversation::event_kind::octets, as_bytes(input_)});
            ZLINK_INVARIANT(result.consumed <= input_.size());
            ZLINK_INVARIANT((result.kind == conversation::action_kind::established) ==
                            machine_->is_established());
            input_.erase(0, result.consumed);
            perform(result);
            if (!machine_->is_established())
                return false;
            undecoded_.swap(input_);
            decoder_ = machine_->framing().make_decoder();
        }
        decode();
        const walk_result walked = walk_frames(as_bytes(input_), in_message_, {});
        ZLINK_INVARIANT(walked.stop != walk_stop::bad_frame && walked.stop != walk_stop::too_big);
        input_.erase(0, walked.octets);
        const std::size_t whole = walked.next.header_size + static_cast<std::size_t>(walked.next.body_size);
        if (walked.stop != walk_stop::command || walked.next.header_size == 0 || input_.size() < whole)
            return false;
        const std::string body = input_.substr(walked.next.header_size, whole - walked.next.header_size);
        input_.erase(0, whole);
        perform(machine_->resume({conversation::event_kind::command, as_bytes(body)}));
        return true;
    }
    void decode() {
        while (!undecoded_.empty()) {
            std::vector<std::uint8_t> out(decoder_->lead(undecoded_.size()) + undecoded_.size());
            const auto step = decoder_->decode(as_bytes(undecoded_), out.data());
            ZLINK_INVARIANT(step.octets <= out.size());
            input_.append(as_text(byte_span(out).first(step.octets)));
            undecoded_.erase(0, step.taken);
            block_ref owner;
            input_.append(as_text(decoder_->take_frame(owner)));
        }
    }

    void perform(const conversation::action &what) {
        ZLINK_INVARIANT(machine_->output().size() < max_output);
        if (what.kind == conversation::action_kind::close) {
            is_closed_ = true;
            failure_ = what.failure;
        }
    }

    const bool is_server_;
    const web_place place_{"example.org", "/"};
    settings options_;
    std::unique_ptr<conversation> machine_;
    std::unique_ptr<frame_decoder> decoder_;
    heartbeat::time_point now_{std::chrono::hours(1)};
    std::string input_, undecoded_;
    bool in_message_ = false;
    bool is_closed_ = false;
    failure_kind failure_ = failure_kind::none;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::talk_in_pieces<driven_conversation>(data, size);
    return 0;
}
