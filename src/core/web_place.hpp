// Where on a web server a socket is found: what the request for it names beside the address.
#pragma once

#include <string>

namespace zlink {

struct web_place {
    std::string host;  // with the port where it is not the usual one; a server does not look at it
    std::string path = "/";

    friend bool operator==(const web_place &, const web_place &) = default;
};

}  // namespace zlink
