// Endpoints as text: "scheme://address" taken apart, the forms of a tcp address, and addresses
// printed. Pure.
//
// Forms:    bind "*:port", "interface:port", "1.2.3.4:port", "[ip6]:port"; "*" and "0" are any free
//           port. connect "host:port", "[ip6]:port", "[ip6%interface]:port", each after "source;"
//           or "source:port;".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>

#include "core/error.hpp"

namespace zlink {

/// Splits at "://"; invalid when either half is missing, and then `why` says which. Whether the
/// scheme is known is find_transport()'s to say.
error split_endpoint(std::string_view endpoint, std::string &scheme, std::string &address,
                     std::string *why = nullptr);

/// The address to listen at, or to connect from.
struct tcp_local_address {
    std::string host;        // "*", a numeric address or an interface; without brackets
    std::uint16_t port = 0;  // 0 = any
};

/// Takes "host:port" apart for binding. invalid: no port, or none from 1 to 65535, "*" or "0". Of a
/// failure `why`, where it is given, gets what was not understood, in words.
error parse_tcp_bind(std::string_view address, tcp_local_address &out, std::string *why = nullptr);

struct tcp_remote_address {
    bool has_source = false;
    tcp_local_address source;
    std::string host;  // a name or a numeric address; without brackets, at most 255 octets
    std::uint16_t port = 0;
};

/// Takes the address of a connect apart. invalid: no port or not a number up to 65535, or
/// characters that no host has. `why` as above.
error parse_tcp_connect(std::string_view address, tcp_remote_address &out, std::string *why = nullptr);

/// The form in front of a port: an IPv6 address in brackets.
std::string host_before_port(const std::string &host);
/// "127.0.0.1", "::1", "fe80::1%eth0"; empty for other families.
std::string print_host(const sockaddr *address, socklen_t length);
/// "tcp://127.0.0.1:5555", "tcp://[::1]:5555", "ipc:///path", "ipc://@name"; "ipc://" for a local
/// socket without a name.
std::string print_endpoint(const sockaddr *address, socklen_t length);
/// Addresses of the two ends of a socket, as the system knows them; empty when it does not.
std::string local_endpoint_of(int socket);
std::string remote_endpoint_of(int socket);

}  // namespace zlink
