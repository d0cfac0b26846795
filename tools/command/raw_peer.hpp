// A conversation in ZMTP 3 with the mechanism NULL, as far as a probe goes: for what the monitor of
// a socket cannot say.
//
// Wire: RFC 23 and 37. The probe names its own type only when it is to receive, or to a peer that
// hands nothing to whoever comes: of a PUSH that it is attached to messages would be lost.

#pragma once

#include "failure.hpp"
#include "peer_stream.hpp"

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

    raw_peer(peer_stream &connected, clock::time_point deadline) : stream_(connected), deadline_(deadline) {}

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
        bool is_command = false;
        bool has_more = false;
        std::string body;
    };
    frame read_frame();
    std::string read(size_t count);
    void write(const std::string &octets) { stream_.write(octets, deadline_); }
    void wait_until_closed();
    void wait_for_pong();

    peer_stream &stream_;
    clock::time_point deadline_;
    bool answers_pings_ = false;
};

}  // namespace command
