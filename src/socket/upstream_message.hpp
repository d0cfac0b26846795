// The place between two frames of what goes upstream, from subscribers to publishers (RFC 29).
//
// A frame that begins with 1 or 0 is a subscription or its end where the message may have such:
// the first one always; those behind it as well, unless the socket takes first frames alone
// (ZMQ_ONLY_FIRST_SUBSCRIBE) and the first was none.
#pragma once

#include <cstdint>

namespace zlink {

class upstream_message {
public:
    bool is_inside() const noexcept { return at_ != place::outside; }
    /// Whether the next frame may change subscriptions.
    bool may_subscribe() const noexcept { return at_ != place::among_others; }
    /// A frame has passed. `may_follow`: where it was the first, whether those behind it may change
    /// subscriptions.
    void pass(bool has_more, bool may_follow) noexcept {
        if (!has_more)
            at_ = place::outside;
        else if (!is_inside())
            at_ = may_follow ? place::among_changes : place::among_others;
    }
    /// The rest does not come.
    void cut() noexcept { at_ = place::outside; }

private:
    enum class place : std::uint8_t { outside, among_changes, among_others };
    place at_ = place::outside;
};

}  // namespace zlink
