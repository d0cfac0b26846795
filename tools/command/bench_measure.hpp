// Runs what `zlink bench` measures: the near end, whose clients connect, and the far end, which
// binds.
//
// Flow: messages of one part, and one of two parts as the last of each client. One way the receiver
// counts; there and back the far end returns whatever comes.

#pragma once

#include "bench_library.hpp"
#include "bench_security.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace command {

struct bench_pattern {
    const char *name;
    const char *words;
    int near_type;
    int far_type;
    bool can_go_one_way;
    bool can_return;
};

const std::vector<bench_pattern> &bench_patterns();
const bench_pattern *bench_pattern_of(const std::string &name);

struct bench_plan {
    const bench_pattern *pattern = nullptr;
    bool is_round_trip = false;
    size_t size = 0;
    std::uint64_t messages = 0;  // of each client; 0: as many as the time allows
    std::chrono::milliseconds duration{0};
    int clients = 1;
    double rate = 0;              // messages a second of each client; 0: as fast as they go
    bench_security_ptr security;  // null: none
};

/// Times in buckets that are 1/64 of their value wide: it is of one size, however many there are.
class bench_times {
public:
    void add(std::uint64_t nanoseconds);
    void merge(const bench_times &other);
    /// The time in microseconds that this share of all does not exceed.
    double at(double share) const;
    double longest() const { return static_cast<double>(longest_) / 1000; }

private:
    std::array<std::uint64_t, 3776> counts_{};
    std::uint64_t total_ = 0;
    std::uint64_t longest_ = 0;
};

struct bench_outcome {
    std::uint64_t messages = 0;
    double seconds = 0;
    bench_times times;  // of round trips

    double rate() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0; }
};

using bench_stopped = std::function<bool()>;

class bench_context {
public:
    explicit bench_context(const bench_library &library);
    ~bench_context();
    bench_context(const bench_context &) = delete;
    bench_context &operator=(const bench_context &) = delete;
    const bench_library &library() const { return library_; }
    void *handle() const { return handle_; }

private:
    const bench_library &library_;
    void *handle_;
};

/// The side that binds. It ends with the last of all clients.
class bench_far_end {
public:
    bench_far_end(bench_context &owner, const bench_plan &plan, const std::string &endpoint);
    ~bench_far_end();
    bench_far_end(const bench_far_end &) = delete;
    bench_far_end &operator=(const bench_far_end &) = delete;

    std::string endpoint() const;
    /// Returns what it has received.
    bench_outcome run(const bench_stopped &is_stopped);

private:
    std::unique_ptr<bench_judge> judge_;  // it is there before the peers
    std::unique_ptr<class bench_socket> socket_;
    const bench_plan plan_;
};

/// The side that connects, a thread for each client: what came back, or was received.
bench_outcome run_near_end(bench_context &owner, const bench_plan &plan, const std::string &endpoint,
                           const bench_stopped &is_stopped);

/// Both ends in this process.
bench_outcome run_both_ends(const bench_library &library, const bench_plan &plan, const std::string &endpoint,
                            const bench_stopped &is_stopped);

}  // namespace command
