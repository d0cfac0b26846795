// The time of day.

#pragma once

#include <chrono>

namespace command {

/// Seconds since the beginning of 1970.
inline double seconds_now() {
    using namespace std::chrono;
    return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace command
