// Blocking stream sockets without a library.
#include "peers/peers.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace bench {

raw_pair open_raw_pair(const std::string &transport) {
    if (transport == "tcp") {
        const tcp_pair made = open_tcp_pair();
        require(bool(made), "two sockets of tcp");
        return {made.connected, made.accepted};
    }
    require(transport == "ipc", "a raw socket of tcp or ipc");
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    return {ends[0], ends[1]};
}

void write_all(int fd, const void *data, std::size_t size) {
    const auto *at = static_cast<const char *>(data);
    while (size > 0) {
        const ssize_t done = ::send(fd, at, size, MSG_NOSIGNAL);
        require(done > 0, "raw send");
        at += done;
        size -= static_cast<std::size_t>(done);
    }
}

void read_all(int fd, void *data, std::size_t size) {
    auto *at = static_cast<char *>(data);
    while (size > 0) {
        const ssize_t done = ::recv(fd, at, size, 0);
        require(done > 0, "raw receive");
        at += done;
        size -= static_cast<std::size_t>(done);
    }
}

void write_text(int fd, const std::string &text) {
    const std::size_t size = text.size();
    write_all(fd, &size, sizeof size);
    write_all(fd, text.data(), size);
}

std::string read_text(int fd) {
    std::size_t size = 0;
    read_all(fd, &size, sizeof size);
    std::string text(size, '\0');
    read_all(fd, text.data(), size);
    return text;
}

}  // namespace bench
