// Decides how long a thread looks again before it goes on without what it looks for.
//
// It looks for something that another running thread is about to do. A look costs nothing but the
// processor's time, so it must pay: each time in vain doubles how often it is skipped, up to 63
// times. One that was not in vain makes up for all before it, or for one. And it must not be dear:
// who was kept from the processor meanwhile leaves all spins out for a good while (`spin_rest`).
// Threads:  one.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/waiter.hpp"

namespace zlink {

class patience {
public:
    /// Looks up to `looks` times, each about as long as it takes to move 64 octets in memory, if
    /// not longer. `look()`: whether it is there now. True when it was there. Never yields:
    /// strangers would have the processor for milliseconds. Where they get it all the same, which
    /// the time tells once in `looks_per_time`, that is the last look, and `rest` begins, whether
    /// or not it has found something.
    template <class Look>
    bool look_for(std::size_t looks, Look &&look, spin_rest &rest, const clock_source &clock,
                  std::size_t looks_per_time = 16) noexcept {
        if (!rest.is_over(clock) || take_skip())
            return false;
        time_point last{};
        for (std::size_t done = 1; done <= looks; ++done) {
            const bool is_found = look();
            const bool is_timed = last != time_point{};
            if (done % looks_per_time == 0 || (is_found && is_timed)) {
                const time_point now = clock.now();
                if (is_timed && rest.note(now - last, now))
                    return is_found;
                last = now;
            }
            if (is_found) {
                note(true);
                return true;
            }
            pause();
        }
        note(false);
        return false;
    }

    // look_for() in parts, for callers that look in their own way:

    bool take_skip() noexcept {
        if (skips_ == 0)
            return false;
        --skips_;
        return true;
    }
    enum class makes_up { for_all, for_one };
    void note(bool was_found, makes_up what = makes_up::for_all) noexcept {
        if (!was_found)
            failures_ = std::min(failures_ + 1, most_failures);
        else
            failures_ = what == makes_up::for_all ? 0 : std::max(failures_ - 1, 0);
        skips_ = (1 << failures_) - 1;
    }

    /// Does nothing for so many moments, and lets the other half of the processor work.
    static void pause(unsigned moments) noexcept {
        for (; moments > 0; --moments)
            pause();
    }
    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb");
#endif
    }

private:
    static constexpr int most_failures = 6;

    int failures_ = 0;  // that nothing has made up for; most_failures at most
    int skips_ = 0;     // times still to be skipped
};

}  // namespace zlink
