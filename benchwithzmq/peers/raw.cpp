// Blocking stream sockets without a library.
#include "peers/peers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

namespace {

raw_pair open_tcp_pair() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof where;
    auto *address = reinterpret_cast<sockaddr *>(&where);
    require(::bind(listener, address, length) == 0 && ::listen(listener, 1) == 0 &&
                ::getsockname(listener, address, &length) == 0,
            "listen");
    raw_pair pair;
    pair.a = ::socket(AF_INET, SOCK_STREAM, 0);
    require(::connect(pair.a, address, length) == 0, "connect");
    pair.b = ::accept(listener, nullptr, nullptr);
    require(pair.b >= 0, "accept");
    ::close(listener);
    const int on = 1;
    for (const int fd : {pair.a, pair.b})
        require(::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    return pair;
}

}  // namespace

raw_pair open_raw_pair(const std::string &transport) {
    if (transport == "tcp")
        return open_tcp_pair();
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
