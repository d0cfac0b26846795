// A connection of octets, over which a probe speaks ZMTP.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace command {

/// Each call waits until the deadline at most, and throws `failure` where it cannot be done.
class peer_stream {
public:
    using clock = std::chrono::steady_clock;

    peer_stream() = default;
    virtual ~peer_stream() = default;
    peer_stream(const peer_stream &) = delete;
    peer_stream &operator=(const peer_stream &) = delete;

    virtual void write(const std::string &octets, clock::time_point deadline) = 0;

    /// Waits for octets; none where the peer has closed the connection.
    virtual std::string read_some(size_t most, clock::time_point deadline) = 0;

    /// Tells the peer that no more is written. False where that would end the reading, too: nothing
    /// is told then.
    virtual bool end_writing() = 0;
};

}  // namespace command
