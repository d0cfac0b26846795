// A thread for a pace: how busy it is, and whether others go on beside it, is the test's. Nobody
// waits.
#pragma once

#include "core/waiter.hpp"

namespace zlink::test {

struct lone_thread : waiter {
    explicit lone_thread(bool has_others = false) : has_time(has_others) {}
    error make_wakeup(std::unique_ptr<wakeup> &) noexcept override { return error::not_supported; }
    error wait(std::span<wait_item>, time_point) noexcept override { return error::not_supported; }
    sending_thread &this_thread() noexcept override { return sends; }
    bool may_spin() const noexcept override { return has_time; }

    sending_thread sends;
    bool has_time;
};

}  // namespace zlink::test
