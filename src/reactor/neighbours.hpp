// The other threads of this process: whether they want the processors that it may run on, so that
// what one thread more does is taken from them. Told the time, and does nothing else.
#pragma once

#include <chrono>

#include "core/platform.hpp"
#include "core/waiter.hpp"

namespace zlink {

class neighbours {
public:
    /// By what they have used since this was asked last, or as it was answered then, where that is
    /// too short a time to tell. They want them where they have used all but this thread's
    /// processor, and an eighth of that. `use` says what was used. It is not called where it is too
    /// early: that asks the system, and this is asked in each round of a loop.
    template <class Use>
    bool want_processor(time_point now, Use &&use) noexcept {
        if (now - since_ < shortest_look)
            return want_;
        const platform::processor_use used = use();
        const duration others =
            (used.by_process - before_.by_process) - (used.by_this_thread - before_.by_this_thread);
        // A look that is long past says nothing of what others want now.
        want_ = now - since_ < longest_look && others * 8 > (now - since_) * (8 * used.processors - 7);
        since_ = now;
        before_ = used;
        return want_;
    }

private:
    static constexpr std::chrono::milliseconds shortest_look{10};
    static constexpr std::chrono::seconds longest_look{1};
    time_point since_{};
    platform::processor_use before_;
    bool want_ = false;
};

}  // namespace zlink
