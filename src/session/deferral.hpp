// When a connection is left to a sender that writes for itself, and how long.
//
// A sender in a stream writes large batches on its own thread, and leaves what does not fill one.
// The I/O thread would only be in its way: it comes back later for what may be left, and later each
// time, as long as the stream goes on.
// Threads:  the I/O thread's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "core/waiter.hpp"

namespace zlink {

class deferral {
public:
    /// Octets that a sender must have written itself since it was last left alone, for it to be in
    /// a stream still: any at all within two of the shortest delays, and later `octets_of_delay`
    /// for each such delay that has passed.
    std::uint64_t octets_of_stream(time_point now) const noexcept {
        const auto delays = (now - since_) / first_delay;
        return delays < 2 ? 1 : static_cast<std::uint64_t>(delays) * octets_of_delay;
    }
    /// The sender is in a stream. Returns when to come back: at `due` while that is still to come.
    time_point defer(time_point now, time_point due) noexcept {
        since_ = now;
        if (now < due)
            return due;
        due = now + delay_;
        delay_ = std::min<duration>(2 * delay_, longest_delay);
        return due;
    }
    /// Nothing was left.
    void note_drained(time_point now) noexcept {
        since_ = now;
        delay_ = first_delay;
    }

private:
    static constexpr std::chrono::microseconds first_delay{100};
    static constexpr std::chrono::microseconds longest_delay{800};
    static constexpr std::uint64_t octets_of_delay = 32 * 1024;

    time_point since_{};
    duration delay_ = first_delay;
};

}  // namespace zlink
