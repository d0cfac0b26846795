// Says how much of the processors this process has used.
#pragma once

#include <cstdint>
#include <ctime>

namespace zlink_test {

inline std::int64_t nanoseconds_of(clockid_t clock) {
    std::timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}
/// The time of all threads but this one, on which a test's peers are.
inline std::int64_t time_of_others() {
    return nanoseconds_of(CLOCK_PROCESS_CPUTIME_ID) - nanoseconds_of(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace zlink_test
