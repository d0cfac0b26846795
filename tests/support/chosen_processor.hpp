// Chooses where the thread of a test runs.
#pragma once

#include <gtest/gtest.h>

#include <sched.h>
#include <vector>

namespace zlink::test {

/// When it goes, the thread may run where it could before.
class chosen_processor {
public:
    chosen_processor() {
        EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
        for (int processor = 0; processor < CPU_SETSIZE; ++processor)
            if (CPU_ISSET(processor, &before_))
                all_.push_back(processor);
    }
    ~chosen_processor() { EXPECT_EQ(::sched_setaffinity(0, sizeof before_, &before_), 0); }
    chosen_processor(const chosen_processor &) = delete;
    chosen_processor &operator=(const chosen_processor &) = delete;

    /// Those that there are for the thread.
    const std::vector<int> &all() const { return all_; }
    static void go_to(int processor) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor, &only);
        ASSERT_EQ(::sched_setaffinity(0, sizeof only, &only), 0);
    }

private:
    cpu_set_t before_{};
    std::vector<int> all_;
};

}  // namespace zlink::test
