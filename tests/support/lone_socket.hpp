// Holds what a socket needs around it, with the test as its clock and its waiter.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/loop_descriptor.hpp"
#include "core/platform.hpp"
#include "no_endpoints.hpp"
#include "socket/options.hpp"
#include "socket/poll_set.hpp"
#include "socket/socket.hpp"

namespace zlink::test {

class set_clock final : public clock_source {
public:
    time_point now() const noexcept override {
        if (on_ask)
            on_ask();
        return at;
    }
    time_point at{std::chrono::hours(1)};
    std::function<void()> on_ask;
};

/// Returns from every wait at once, after telling the test of it.
class scripted_waiter final : public waiter {
public:
    error make_wakeup(std::unique_ptr<wakeup> &out) noexcept override { return real_->make_wakeup(out); }
    error make_loop_descriptor(const wakeup &level, std::unique_ptr<loop_descriptor> &out) noexcept override {
        return has_loops ? real_->make_loop_descriptor(level, out) : error::too_many_files;
    }
    error wait(std::span<wait_item> items, time_point deadline) noexcept override {
        if (deadline == time_point::min())
            return ++asks, on_ask(items);
        if (++waits == most_waits) {
            ADD_FAILURE() << "waits without end";
            std::abort();
        }
        return on_wait(items);
    }

    error wait_as_caller(std::span<wait_item> items, time_point deadline) override {
        if (on_sleep_of_caller)
            on_sleep_of_caller();
        return wait(items, deadline);
    }
    sending_thread &this_thread() noexcept override { return thread; }
    bool may_spin() const noexcept override {
        if (const auto act = std::exchange(on_look, nullptr))
            act();
        return has_time;
    }

    sending_thread thread;
    bool has_time = false;
    bool has_loops = true;                  // descriptors for them
    mutable std::function<void()> on_look;  // once
    std::function<error(std::span<wait_item>)> on_wait = [](std::span<wait_item>) {
        return error::timed_out;
    };
    std::function<error(std::span<wait_item>)> on_ask = [](std::span<wait_item>) { return error::timed_out; };
    std::function<void()> on_sleep_of_caller;  // may throw, as the end of a cancelled thread does
    int waits = 0;
    int asks = 0;  // whether something is there, without waiting

private:
    static constexpr int most_waits = 1000;
    const std::unique_ptr<waiter> real_ = platform::make_waiter(platform::steady_clock());
};

/// One socket, alone with what it needs. What is at the other ends of its pipes is the test's.
class lone_socket : public testing::Test {
protected:
    /// The socket goes first: what the test keeps at the other ends outlives it.
    void TearDown() override { self.reset(); }
    std::unique_ptr<socket> make_socket(socket_type type) {
        return socket::make(default_settings(type), {endpoints, wait, clock, *random, pool});
    }
    std::string receive(int flags = 0) {
        char buffer[64];
        std::size_t size = 0;
        const error e = self->receive(buffer, sizeof buffer, size, flags);
        return failed(e) ? describe(to_errno(e)) : std::string(buffer, std::min(size, sizeof buffer));
    }
    /// Waits for room, which is there and not what a REQ needs that has asked already: sleeps once,
    /// and finds nothing.
    void expect_polls_for_room_in_vain() {
        EXPECT_EQ(self->send(as_bytes("question"), 0), error::none);
        watched item{self.get(), -1, ZMQ_POLLOUT, 0};
        std::size_t count = 9;
        EXPECT_EQ(wait_for_any({&item, 1}, 5, count), error::none);
        EXPECT_EQ(count, 0u) << "a REQ that awaits an answer";
        EXPECT_EQ(wait.waits, 1);
    }

    no_endpoints endpoints;
    scripted_waiter wait;
    set_clock clock;
    std::unique_ptr<random_source> random = platform::make_random_source();
    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::unique_ptr<socket> self;
};

}  // namespace zlink::test
