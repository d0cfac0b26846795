// A connection of tcp:// or ipc:// that a probe makes itself, so that it can tell more of it than a
// socket can.

#pragma once

#include "peer_stream.hpp"

namespace command {

class plain_stream : public peer_stream {
public:
    ~plain_stream() override;

    /// Connects to "tcp://host:port" or "ipc://path"; what it is connected to.
    std::string connect(const std::string &endpoint, clock::time_point deadline);

    void write(const std::string &octets, clock::time_point deadline) override;
    std::string read_some(size_t most, clock::time_point deadline) override;
    bool end_writing() override;

private:
    void wait_for(short events, const char *what, clock::time_point deadline);
    void connect_to(const void *address, unsigned length, clock::time_point deadline);

    int descriptor_ = -1;
};

}  // namespace command
