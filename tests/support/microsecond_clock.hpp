// A clock that goes on by a microsecond each time it is asked: what is measured by it takes as long
// as it takes steps, however busy the machine is.
#pragma once

#include "core/waiter.hpp"

#include <chrono>

namespace zlink::test {

struct microsecond_clock final : clock_source {
    time_point now() const noexcept override { return at += std::chrono::microseconds(1); }
    mutable time_point at{std::chrono::hours(1)};
};

}  // namespace zlink::test
