// The memory of a call that waits for a message, where the body of the next one may be read to.
//
// It is open until a body begins there, something else comes, or it is withdrawn. While a body
// arrives there, it is that of a frame that is under way: session/large_frame.hpp.
// Threads:  those of the reading half, one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace zlink {

class body_offer {
public:
    void open(std::span<std::uint8_t> place) noexcept { place_ = place; }
    /// Something else has come, in front of what the call waits for.
    void forget() noexcept { place_ = {}; }
    /// Whether a body of so many octets may begin there: none where it is not open.
    bool fits(std::uint64_t octets) const noexcept { return octets <= place_.size(); }
    /// A body begins there.
    std::uint8_t *take() noexcept { return std::exchange(place_, {}).data(); }
    /// All of a body stands there, and its message is published.
    void note_filled() noexcept { is_filled_ = true; }
    /// Nothing is written there any more. True when it was filled, once.
    bool withdraw() noexcept {
        forget();
        return std::exchange(is_filled_, false);
    }

private:
    std::span<std::uint8_t> place_;
    bool is_filled_ = false;
};

}  // namespace zlink
