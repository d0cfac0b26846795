// Waits for a condition that another thread will make true; the only place in the tests where time
// passes.
#pragma once

#include <chrono>
#include <thread>

namespace zlink_test {

inline constexpr std::chrono::seconds patience{20};
inline constexpr int patience_ms = static_cast<int>(std::chrono::milliseconds(patience).count());

// True as soon as the condition holds, false if it does not within the limit.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = patience) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace zlink_test
