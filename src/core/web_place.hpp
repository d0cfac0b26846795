// The place of a socket on a web server, which the request for it names beside the address; and
// what a client has learned of the server.
#pragma once

#include <cstddef>
#include <string>

namespace zlink {

struct web_place {
    /// The most octets of path, query, host and Origin together: what a request says beside them
    /// has the rest of 8 KiB.
    static constexpr std::size_t most_octets = 7 * 1024;

    std::string host;  // with the port where it is not the usual one; a server does not look at it
    std::string path = "/";

    friend bool operator==(const web_place &, const web_place &) = default;
};

/// The knowledge that one connection to a web server leaves for the next one.
struct web_memory {
    bool refuses_names_with_slash = false;  // of sub-protocols; a slash is no character of a token
};

}  // namespace zlink
