#include "socket_address.hpp"

#include <cstddef>
#include <cstring>

namespace command {

socket_address ipc_address(const std::string &path) {
    socket_address made;
    sockaddr_un &address = made.path;
    if (path.empty() || path.size() >= sizeof address.sun_path) {
        throw failure(status::usage, "this is no path of a socket: " + path);
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const bool is_abstract = path[0] == '@';
    if (is_abstract) {
        address.sun_path[0] = '\0';
    }
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
    return made;
}

}  // namespace command
