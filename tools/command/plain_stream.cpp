#include "plain_stream.hpp"

#include "failure.hpp"
#include "socket_address.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace command {

plain_stream::~plain_stream() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

void plain_stream::wait_for(short events, const char *what, clock::time_point deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
    pollfd one{descriptor_, events, 0};
    const int found = poll(&one, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000000000)));
    if (found == 0) {
        throw failure(status::timed_out, fmt::format("{} in time", what));
    }
    if (found < 0) {
        throw failure(errno == EINTR ? status::interrupted : status::other, std::strerror(errno));
    }
}

void plain_stream::connect_to(const void *address, unsigned length, clock::time_point deadline) {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
    const auto *to = static_cast<const sockaddr *>(address);
    descriptor_ = ::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = descriptor_ < 0 || ::connect(descriptor_, to, length) != 0 ? errno : 0;
    if (error == EINPROGRESS) {
        wait_for(POLLOUT, "no connection", deadline);
        socklen_t size = sizeof error;
        getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
        throw failure(status::unreachable, std::strerror(error));
    }
}

std::string plain_stream::connect(const std::string &endpoint, clock::time_point deadline) {
    if (endpoint.rfind("ipc://", 0) == 0) {
        const std::string path = endpoint.substr(6);
        const socket_address address = ipc_address(path);
        connect_to(&address.octets, address.size, deadline);
        return path;
    }
    std::string host = endpoint.substr(6);
    host = host.substr(host.find(';') + 1);  // a source is for sockets
    const size_t colon = host.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        throw failure(status::usage, endpoint + " has no host and port");
    }
    const std::string port = host.substr(colon + 1);
    host = host.substr(0, colon);
    if (host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_STREAM;
    if (const int error = getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); error != 0) {
        throw failure(status::unreachable,
                      fmt::format("cannot find the address of {}: {}", host, gai_strerror(error)));
    }
    failure last(status::unreachable, "no address");
    for (const addrinfo *each = found; each; each = each->ai_next) {
        try {
            connect_to(each->ai_addr, each->ai_addrlen, deadline);
            std::array<char, NI_MAXHOST> name{};
            getnameinfo(each->ai_addr, each->ai_addrlen, name.data(), name.size(), nullptr, 0,
                        NI_NUMERICHOST);
            freeaddrinfo(found);
            return fmt::format("{} port {}", name.data(), port);
        } catch (const failure &error) {
            last = failure(status::unreachable, error.what());
        }
    }
    freeaddrinfo(found);
    throw last;
}

void plain_stream::write(const std::string &octets, clock::time_point deadline) {
    size_t written = 0;
    while (written < octets.size()) {
        wait_for(POLLOUT, "the peer does not read", deadline);
        const ssize_t count =
            send(descriptor_, octets.data() + written, octets.size() - written, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            throw failure(status::peer_gone, fmt::format("the peer has gone: {}", std::strerror(errno)));
        }
        written += count > 0 ? static_cast<size_t>(count) : 0;
    }
}

std::string plain_stream::read_some(size_t most, clock::time_point deadline) {
    std::array<char, 65536> buffer;
    for (;;) {
        wait_for(POLLIN, "the peer says nothing", deadline);
        const ssize_t got = recv(descriptor_, buffer.data(), std::min(buffer.size(), most), 0);
        if (got >= 0) {
            return {buffer.data(), static_cast<size_t>(got)};
        }
        if (errno != EAGAIN && errno != EINTR) {
            throw failure(status::peer_gone, fmt::format("the peer has gone: {}", std::strerror(errno)));
        }
    }
}

bool plain_stream::end_writing() {
    shutdown(descriptor_, SHUT_WR);
    return true;
}

}  // namespace command
