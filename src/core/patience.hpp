// How long a thread looks again before it goes on without what it looks for.
//
// It looks for something that another running thread is about to do. A look costs nothing but the processor's time, so it
// must pay: each time in vain doubles how often it is skipped, up to 63 times. One that was not in vain makes up for all before it,
// or for one.
// Threads:  one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>

namespace zlink {

class patience {
public:
    /// Looks up to `looks` times, each about as long as it takes to move 64 octets in memory, if not longer. `look()`: whether it
    /// is there now. Lets other threads have the processor once in `looks_per_yield`, and the first time soon: the one that is looked for
    /// may wait for this processor. True when it was there.
    template <class Look>
    bool look_for(std::size_t looks, Look &&look, std::size_t looks_per_yield = 256) noexcept {
        if (take_skip())
            return false;
        for (std::size_t done = 1; done <= looks; ++done) {
            if (look()) {
                note(true);
                return true;
            }
            if (done % looks_per_yield == std::min(first_yield, looks_per_yield - 1))
                std::this_thread::yield();
            else
                pause();
        }
        note(false);
        return false;
    }

    // The same in parts, for those who look in their own way:

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
    static constexpr std::size_t first_yield = 16;  // looks

    int failures_ = 0;  // that nothing has made up for; most_failures at most
    int skips_ = 0;     // times still to be skipped
};

}  // namespace zlink
