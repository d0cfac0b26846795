// Says how long to wait before the next attempt to connect. Pure.
//
// Without a maximum the interval stays; with one it doubles up to it. A random part spreads peers
// that failed together. Who is refused by the other side, and may try again nevertheless, waits
// twice as long each time even without a maximum: that side has little to gain from hearing of him
// ten times a second.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace zlink {

class backoff {
public:
    using milliseconds = std::chrono::milliseconds;
    /// Without a maximum: how far the interval grows for one who is refused each time.
    static constexpr milliseconds longest_when_refused{30000};

    /// Takes ZMQ_RECONNECT_IVL and ZMQ_RECONNECT_IVL_MAX; a maximum below the interval counts as
    /// none.
    backoff(int interval_ms, int max_ms) noexcept
        : first_(std::max(interval_ms, 0)), max_(max_ms > interval_ms ? max_ms : 0), current_(first_) {}

    /// The next delay: the current interval and up to as much again at random, never beyond the
    /// maximum.
    milliseconds next(std::uint64_t random, bool was_refused = false) noexcept {
        const int limit = max_ > 0      ? max_
                          : was_refused ? std::max(first_, static_cast<int>(longest_when_refused.count()))
                                        : 0;
        if (limit == 0)
            current_ = first_;
        std::int64_t delay = current_;
        if (current_ > 0)
            delay += static_cast<std::int64_t>(random % static_cast<std::uint64_t>(current_));
        if (limit > 0) {
            delay = std::min<std::int64_t>(delay, limit);
            current_ = static_cast<int>(std::min<std::int64_t>(std::int64_t{2} * current_, limit));
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
