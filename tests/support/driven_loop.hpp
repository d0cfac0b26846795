// A loop of the library's on the thread of a test, which goes on only while the test has it go on:
// no thread beside it, and no sleep but for what the system has to bring.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <utility>

#include "reactor/asio_loop.hpp"

namespace zlink::test {

class driven_loop {
public:
    /// A loop that was told to end runs what there is, instead of sleeping.
    driven_loop() {
        io_.quit();
        io_.run();
    }
    /// Runs what there is still.
    ~driven_loop() { round(); }

    operator loop &() noexcept { return io_; }
    asio_loop &io() noexcept { return io_; }

    /// Runs what is there to be run, and waits for nothing.
    void round() {
        is_running_ = true;
        io_.run();
        is_running_ = false;
    }
    /// Goes on until something holds. False, and the test has failed, when nothing comes any more.
    template <class Condition>
    bool until(Condition holds) {
        int left = patience / step;
        for (round(); !holds(); round()) {
            // Whatever another thread posts does not interrupt this: the loop is not known to
            // sleep.
            is_running_ = true;
            io_.context().restart();
            left = io_.context().run_one_for(step) > 0 ? patience / step : left - 1;
            is_running_ = false;
            if (left < 0) {
                ADD_FAILURE() << "nothing comes any more";
                return false;
            }
        }
        return true;
    }
    /// Whether the loop may call anybody now.
    bool is_running() const noexcept { return is_running_; }

private:
    static constexpr std::chrono::milliseconds patience{20'000}, step{10};

    asio_loop io_;
    bool is_running_ = false;
};

}  // namespace zlink::test
