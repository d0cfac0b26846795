// The address of a socket of the system, of the place that an endpoint names.

#pragma once

#include "failure.hpp"

#include <sys/socket.h>

#include <string>

namespace command {

struct socket_address {
    sockaddr_storage octets{};
    socklen_t size = 0;
};

/// The place of "ipc://path"; a path that begins with @ is of the abstract name space. Throws
/// failure where there is no such path.
socket_address ipc_address(const std::string &path);

}  // namespace command
