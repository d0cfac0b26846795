// What a socket needs around it, with the test as its clock and its waiter.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "core/platform.hpp"
#include "socket/socket.hpp"

namespace zlink::test {

class no_endpoints final : public endpoint_service {
public:
    error bind(socket &, const std::string &, std::string &) override { return error::invalid; }
    error connect(socket &, const std::string &, std::string &) override { return error::invalid; }
    error unbind(socket &, const std::string &) override { return error::no_entry; }
    error disconnect(socket &self, const std::string &endpoint) override {
        return self.detach_endpoint(endpoint) ? error::none : error::no_entry;
    }
    void close_all(socket &) noexcept override {}
    error make_monitor_socket(const std::string &, std::unique_ptr<socket> &) override {
        return error::not_supported;
    }
};

class set_clock final : public clock_source {
public:
    time_point now() const noexcept override { return at; }
    time_point at{std::chrono::hours(1)};
};

/// Returns from every wait at once, after telling the test of it.
class scripted_waiter final : public waiter {
public:
    error make_wakeup(std::unique_ptr<wakeup> &out) noexcept override { return real_->make_wakeup(out); }
    error wait(std::span<wait_item> items, time_point deadline) noexcept override {
        if (deadline == time_point::min())
            return ++asks, on_ask(items);
        if (++waits == most_waits) {
            ADD_FAILURE() << "waits without end";
            std::abort();
        }
        return on_wait(items);
    }

    bool may_look_again() const noexcept override {
        if (const auto act = std::exchange(on_look, nullptr))
            act();
        return has_time;
    }

    bool has_time = false;
    mutable std::function<void()> on_look;  // once
    std::function<error(std::span<wait_item>)> on_wait = [](std::span<wait_item>) {
        return error::timed_out;
    };
    std::function<error(std::span<wait_item>)> on_ask = [](std::span<wait_item>) { return error::timed_out; };
    int waits = 0;
    int asks = 0;  // whether something is there, without waiting

private:
    static constexpr int most_waits = 1000;
    const std::unique_ptr<waiter> real_ = platform::make_waiter(platform::steady_clock());
};

}  // namespace zlink::test
