// How long to wait before the next attempt to connect. Pure.
//
// Without a maximum the interval stays; with one it doubles up to it. A random part spreads peers that failed together.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink {

class backoff {
public:
    using milliseconds = std::chrono::milliseconds;

    /// As ZMQ_RECONNECT_IVL and ZMQ_RECONNECT_IVL_MAX; a maximum below the interval counts as none.
    backoff(int interval_ms, int max_ms) noexcept
        : first_(std::max(interval_ms, 0)), max_(max_ms > interval_ms ? max_ms : 0), current_(first_) {}

    /// The next delay: the current interval and up to as much again at random, never beyond the maximum.
    milliseconds next(std::uint64_t random) noexcept {
        std::int64_t delay = current_;
        if (current_ > 0)
            delay += static_cast<std::int64_t>(random % static_cast<std::uint64_t>(current_));
        if (max_ > 0) {
            delay = std::min<std::int64_t>(delay, max_);
            current_ = static_cast<int>(std::min<std::int64_t>(std::int64_t{2} * current_, max_));
        }
        return milliseconds(delay);
    }
    void reset() noexcept { current_ = first_; }

private:
    // Milliseconds
    int first_;
    int max_;
    int current_;
};

}  // namespace zlink
