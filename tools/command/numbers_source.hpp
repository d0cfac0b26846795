// The place where a process tells its numbers, and what it tells there (docs/metrics.md).

#pragma once

#include "failure.hpp"
#include "text.hpp"

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

class numbers_source {
public:
    /// `target` is the number of a process, whose environment says where it tells them, or an
    /// address as ZLINK_METRICS has it. Throws `failure` where that is neither, or nobody answers.
    explicit numbers_source(const std::string &target);

    const std::string &address() const { return address_; }
    bool is_file() const { return address_.starts_with("file:"); }
    /// What is answered for a path such as /metrics, asked for as a type, if any. A file has
    /// /metrics.json alone.
    std::string get(const std::string &path, const std::string &type = "") const;
    /// Throws `failure` where nobody answers any more, and `no_answer_yet`.
    numbers look(bool with_peers = true) const;

private:
    void find(int process);

    std::string address_;  // without a choice
};

}  // namespace command
