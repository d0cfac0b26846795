// The address of a socket of the system, of the place that an endpoint names.

#pragma once

#include "failure.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace command {

struct socket_address {
    /// Which of them it is, `any` says by its family.
    union {
        sockaddr_storage octets{};
        sockaddr any;
        sockaddr_in v4;
        sockaddr_in6 v6;
        sockaddr_un path;
    };
    socklen_t size = 0;
};

/// The place of "ipc://path"; a path that begins with @ is of the abstract name space. Throws
/// failure where there is no such path.
socket_address ipc_address(const std::string &path);

}  // namespace command
