// The options of sockets by their names, as -o takes them.

#pragma once

#include "sockets.hpp"

#include <span>
#include <string>

namespace command {

enum class option_kind { number, number64, truth, octets, text, key };

struct socket_option {
    const char *name;  // without ZMQ_
    int number;
    option_kind kind;
};

std::span<const socket_option> socket_options();

/// Sets what NAME=VALUE says: "sndhwm=5", "ZMQ_LINGER=0", "ipv6=on", "routing-id=0x00ff".
void set_option(socket &of, const std::string &assignment);

/// Octets of "0x..." in hexadecimal, or the text itself.
std::string octets_of(const std::string &text);

}  // namespace command
