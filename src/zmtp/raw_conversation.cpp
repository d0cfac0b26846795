// No conversation: a peer that does not speak ZMTP is there as soon as its stream is. Nothing is
// said to it but what the application says, nothing it sends has a meaning here, and no time passes
// for it.
#include "zmtp/conversation.hpp"
#include "zmtp/framing_raw.hpp"

namespace zlink {

namespace {

class raw_conversation final : public conversation {
public:
    explicit raw_conversation(const settings &options)
        : octets_(options.in_batch_size > 0 ? static_cast<std::size_t>(options.in_batch_size)
                                            : framing_raw::usual_message) {
        framing_ = &octets_;
    }

    action resume(const event &what) override {
        action result;
        if (what.kind == event_kind::start && !is_established_) {
            is_established_ = true;
            result.kind = action_kind::established;
        }
        return result;
    }
    time_point deadline() const noexcept override { return time_point::max(); }
    void note_traffic(time_point) noexcept override {}

private:
    const framing_raw octets_;
};

}  // namespace

std::unique_ptr<conversation> make_raw_conversation(const settings &options) {
    return std::make_unique<raw_conversation>(options);
}

}  // namespace zlink
