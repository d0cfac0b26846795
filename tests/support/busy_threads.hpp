// Threads that do something again and again, for as long as a test wants.
#pragma once

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

namespace zlink_test {

class busy_threads {
public:
    busy_threads() = default;
    busy_threads(const busy_threads &) = delete;
    busy_threads &operator=(const busy_threads &) = delete;
    ~busy_threads() { stop(); }

    template <class Work>
    void add(Work work) {
        all_.emplace_back([this, work = std::move(work)]() mutable {
            while (!is_over_)
                work();
        });
    }
    // Returns when all are through.
    void stop() {
        is_over_ = true;
        for (std::thread &each : std::exchange(all_, {}))
            each.join();
    }

private:
    std::atomic<bool> is_over_{false};
    std::vector<std::thread> all_;
};

}  // namespace zlink_test
