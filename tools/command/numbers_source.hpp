// The place where a process tells its numbers, and what it tells there (docs/metrics.md).

#pragma once

#include "failure.hpp"
#include "text.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace command {

/// The numbers of a process at one time.
struct numbers {
    json_object sockets;               // /metrics.json
    std::optional<json_object> peers;  // /peers, where it is answered
    bool has_ended = false;            // a file is what its process has left
    bool is_silent = false;            // these are old: there was no answer since

    int process() const { return static_cast<int>(sockets.number("process")); }
    double time() const { return sockets.number("time"); }
};

/// Somebody is there, and does not answer in time: a process that is stopped, or has much to do.
class no_answer_yet : public failure {
public:
    using failure::failure;
};

/// It answers, and has nothing at this path.
class not_told : public failure {
public:
    using failure::failure;
};

class numbers_source {
public:
    using clock = std::chrono::steady_clock;

    /// `target` is the number of a process, whose environment says where it tells them, or an
    /// address as ZLINK_METRICS has it. Throws `failure` where that is neither, or nobody answers.
    /// `patience`: for all that is asked in one call; none: each step has 5 s for itself.
    explicit numbers_source(const std::string &target,
                            std::optional<std::chrono::milliseconds> patience = std::nullopt);

    const std::string &address() const { return address_; }
    bool is_file() const { return address_.starts_with("file:"); }
    /// Returns what is answered for a path such as /metrics, asked for as a type, if any. A file
    /// has /metrics.json, and /metrics for Prometheus as long as its process runs.
    std::string get(const std::string &path, const std::string &type = "") const;
    /// Throws `failure` where nobody answers any more, and `no_answer_yet`.
    numbers look(bool with_peers = true) const;
    /// These do so without peers, and throw `failure`, too, where the process has ended, or is
    /// another than the one that `target` has named.
    std::string get_of_running(const std::string &path, const std::string &type = "") const;
    numbers look_at_running() const;

private:
    void find(int process);
    clock::time_point deadline() const;
    std::string get_of_file(const std::string &path, const std::string &type) const;
    std::string get(const std::string &path, const std::string &type, clock::time_point until) const;
    numbers look(bool with_peers, clock::time_point until) const;
    numbers look_at_running(clock::time_point until) const;

    const std::optional<std::chrono::milliseconds> patience_;
    std::optional<int> process_;  // where it was named by its number
    std::string address_;         // without a choice
};

}  // namespace command
