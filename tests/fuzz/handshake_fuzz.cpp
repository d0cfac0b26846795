// Fuzz target: a whole peer machine, from the greeting through traffic commands. The octets choose
// the socket type, how the stream is cut and when time passes; the machine has to end in one piece
// with bounded output.
//
// Input:    options:1 | pieces: (size:1 | octets)*.
//           A size of 0 lets time pass. A bit of the options puts a good
//           greeting in front, another one a good READY too, so that a random start gets past them.
#include <cstddef>
#include <cstdint>

#include <algorithm>
#include <string>

#include "pieces.hpp"

#include "core/invariant.hpp"
#include "core/settings.hpp"
#include "zmtp/frame_walk.hpp"
#include "zmtp/greeting.hpp"
#include "zmtp/heartbeat.hpp"
#include "zmtp/peer.hpp"

using namespace zlink;

namespace {

constexpr std::size_t max_output = 4096;

class driven_peer {
public:
    explicit driven_peer(std::uint8_t options) {
        options_.type = static_cast<socket_type>((options >> 3) % 11);
        options_.heartbeat_interval_ms = options & 1 ? 50 : 0;
        machine_ = std::make_unique<peer>(options_, options & 1);
        perform(machine_->resume({peer::event_kind::start, {}, now_}));
        if (options & 2)
            feed(make_greeting("NULL", false));
        if ((options & 6) == 6)
            feed(as_bytes(std::string_view("\4\6\5READY")));
    }

    void feed(byte_span arrived) {
        machine_->note_traffic(now_);
        input_.append(as_text(arrived));
        while (!is_closed_ && step())
            ;
    }
    void pass() {
        now_ += std::chrono::milliseconds(20);
        if (!is_closed_ && machine_->deadline() <= now_)
            perform(machine_->resume({peer::event_kind::time, {}, now_}));
    }
    // However it went, a closed machine stays closed and one that never got through is closed by
    // the clock.
    void end() {
        now_ += std::chrono::hours(1);
        const bool was_established = machine_->is_established();
        const auto last = machine_->resume({peer::event_kind::time, {}, now_});
        ZLINK_INVARIANT(was_established || last.kind == peer::action_kind::close);
        ZLINK_INVARIANT(!is_closed_ || last.failure == failure_);
    }

private:
    bool step() {
        const byte_span input = as_bytes(input_);
        if (!machine_->is_established()) {
            const auto result = machine_->resume({peer::event_kind::octets, input});
            ZLINK_INVARIANT(result.consumed <= input.size());
            ZLINK_INVARIANT((result.kind == peer::action_kind::established) == machine_->is_established());
            input_.erase(0, result.consumed);
            perform(result);
            return machine_->is_established();
        }
        const walk_result walked = walk_frames(input, in_message_, {});
        const std::size_t body_at = walked.octets + walked.next.header_size;
        if (walked.stop != walk_stop::command || walked.next.header_size == 0 ||
            input.size() - body_at < walked.next.body_size) {
            input_.erase(0, walked.octets);
            return false;
        }
        const byte_span body = input.subspan(body_at, static_cast<std::size_t>(walked.next.body_size));
        const auto result = machine_->resume({peer::event_kind::command, body});
        ZLINK_INVARIANT(result.topic.empty() ||
                        (result.topic.data() >= body.data() &&
                         result.topic.data() + result.topic.size() == body.data() + body.size()));
        perform(result);
        input_.erase(0, body_at + static_cast<std::size_t>(walked.next.body_size));
        return true;
    }

    void perform(const peer::action &what) {
        ZLINK_INVARIANT(machine_->output().size() < max_output);
        if (what.kind == peer::action_kind::close) {
            is_closed_ = true;
            failure_ = what.failure;
        }
    }

    settings options_;
    std::unique_ptr<peer> machine_;
    heartbeat::time_point now_{std::chrono::hours(1)};
    std::string input_;
    bool in_message_ = false;
    bool is_closed_ = false;
    failure_kind failure_ = failure_kind::none;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    zlink::test::talk_in_pieces<driven_peer>(data, size);
    return 0;
}
