// Holds what a socket without ZMTP (ZMQ_STREAM, ZMQ_ROUTER_RAW) hears of its peers and receives
// from them.
#pragma once

#include "sockets.hpp"

namespace zlink_test {

// A socket of that type for peers that do not speak ZMTP. It sends everything before it is gone,
// whatever becomes of its connections.
inline test_socket make_bare(context &zmq, int type) {
    test_socket made = zmq.socket(type);
    if (type == ZMQ_ROUTER) {
        EXPECT_EQ(made.set(ZMQ_ROUTER_RAW, 1), 0);
    }
    made.set(ZMQ_LINGER, -1);
    return made;
}

// The id in the empty message that tells of a connection, or of its end; "" when something else
// comes.
inline std::string told(test_socket &socket) {
    const frames message = socket.receive_all();
    return message.size() == 2 && message[1].empty() ? message[0] : std::string();
}

inline constexpr std::size_t read_of_libzmq = 8192;

// Octets from one peer, in as many messages as they come in. None is larger than what libzmq reads
// at once.
inline std::string octets_from(test_socket &socket, const std::string &id, std::size_t count) {
    std::string out;
    while (out.size() < count) {
        const frames message = socket.receive_all();
        if (message.size() != 2 || message[0] != id || message[1].empty())
            break;
        EXPECT_LE(message[1].size(), read_of_libzmq);
        out += message[1];
    }
    return out;
}

}  // namespace zlink_test
