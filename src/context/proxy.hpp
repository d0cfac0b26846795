// Passes messages between two sockets until the context ends or a control socket says so
// (zmq_proxy).
//
// Flow:     a message is taken from one side only when the other has room, so that nobody is
//           blocked by a slow side; at most `most_messages_one_way` messages go one way before the
//           other way is looked at.
// Control:  one-part commands PAUSE, RESUME, TERMINATE and STATISTICS; others do nothing. A REP
//           socket is always answered.
// Threads:  the calling one holds all the sockets while the proxy runs.
#pragma once

#include "core/error.hpp"
#include "socket/socket.hpp"

namespace zlink {

struct proxy_sockets {
    socket &frontend;
    socket &backend;  // may be the frontend
    socket *capture = nullptr;
    socket *control = nullptr;
};

/// Runs until the end: none after TERMINATE; terminated, interrupted, or what a socket answered
/// otherwise. A message that nobody can be given (ZMQ_ROUTER_MANDATORY) is dropped.
error run_proxy(const proxy_sockets &sockets);

}  // namespace zlink
