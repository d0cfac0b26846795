// A conversation in ZMTP 3 with the mechanism NULL, as far as a probe goes: for what the monitor of
// a socket cannot say.
//
// Wire: RFC 23 and 37. The probe names its own type only when it is to receive, or to a peer that
// hands nothing to whoever comes: of a PUSH that it is attached to messages would be lost.

#pragma once

#include "failure.hpp"

#include <chrono>
#include <map>
#include <string>

namespace command {

struct greeting {
    int major = 0;
    int minor = 0;
    std::string mechanism;
    bool is_server = false;
};

class raw_peer {
public:
    using clock = std::chrono::steady_clock;

    explicit raw_peer(clock::time_point deadline) : deadline_(deadline) {}
    ~raw_peer();
    raw_peer(const raw_peer &) = delete;
    raw_peer &operator=(const raw_peer &) = delete;

    /// Connects to "tcp://host:port" or "ipc://path"; what it is connected to.
    std::string connect(const std::string &endpoint);
    greeting greet();
    /// The properties of the peer's READY, such as "Socket-Type".
    std::map<std::string, std::string> read_ready();
    void send_ready(const std::string &type);
    /// Ends the handshake and the connection, so that the peer counts no handshake that failed.
    void finish(const std::string &type);
    void subscribe_to_all();
    /// The first part of the first message; how many octets all parts have in `size`.
    std::string read_message(size_t &size, size_t &parts);

private:
    struct frame {
        bool is_command;
        bool has_more;
        std::string body;
    };
    frame read_frame();
    std::string read(size_t count);
    void write(const std::string &octets);
    void wait_for(short events, const char *what);
    void wait_until_closed();
    void connect_to(const void *address, unsigned length);

    clock::time_point deadline_;
    int descriptor_ = -1;
};

}  // namespace command
