// Whether a sender writes by itself or leaves it to the I/O thread.
//
// A message that finds the I/O thread asleep is written at once by its sender: that saves two hand-overs. Messages that follow
// each other faster than a write costs go out many at a time, from the I/O thread. What just happened decides: the time since
// the last message that found a sleeper, how many were published since, and whether the sender had to wait in between.
// Threads:  the socket's.
#pragma once

#include <algorithm>

#include "core/waiter.hpp"

namespace zlink {

class pace {
public:
    explicit pace(const clock_source &clock) noexcept : clock_(clock) {}

    /// `messages` were published since the last one that found a sleeper. True: write the newest at once.
    bool allows(std::uint32_t messages) noexcept {
        begun_ = clock_.now();
        const bool is_slow = begun_ - ended_ >= cost_ * messages;
        ended_ = begun_;
        return is_slow || has_waited_;
    }
    /// The write that allows() was asked for is over.
    void note_written() noexcept {
        ended_ = clock_.now();
        // One that was interrupted must not count for long.
        cost_ += (std::clamp<duration>(ended_ - begun_, least_cost, most_cost) - cost_) / 4;
        has_waited_ = false;
    }
    /// The sender had to wait for something, most likely an answer.
    void note_wait() noexcept { has_waited_ = true; }

private:
    static constexpr duration least_cost = std::chrono::microseconds(1);
    static constexpr duration most_cost = std::chrono::microseconds(20);

    const clock_source &clock_;
    time_point begun_{};
    time_point ended_{};
    duration cost_ = std::chrono::microseconds(5);
    bool has_waited_ = false;
};

}  // namespace zlink
