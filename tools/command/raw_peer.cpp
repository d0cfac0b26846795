#include "raw_peer.hpp"

#include "socket_address.hpp"
#include "text.hpp"

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
#include <cstdint>
#include <cstring>

namespace command {

namespace {

constexpr size_t largest_command = 65536;
constexpr size_t largest_message = size_t{64} << 20;
constexpr unsigned char flag_more = 1, flag_long = 2, flag_command = 4;

std::string guess_of(const std::string &octets) {
    if (octets.rfind("HTTP", 0) == 0) {
        return "the peer speaks HTTP, not ZMTP";
    }
    if (octets.rfind("SSH-", 0) == 0) {
        return "the peer speaks SSH, not ZMTP";
    }
    if (octets[0] == 0x15 || octets[0] == 0x16) {
        return "the peer speaks TLS, not ZMTP";
    }
    return fmt::format("the peer does not speak ZMTP: it begins with \"{}\"", escaped(octets));
}

std::uint64_t big_endian(const std::string &octets) {
    std::uint64_t value = 0;
    for (const char c : octets) {
        value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
}

std::string frame_of(unsigned char flags, const std::string &body) {
    return std::string{static_cast<char>(flags), static_cast<char>(body.size())} + body;
}

}  // namespace

raw_peer::~raw_peer() {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
}

void raw_peer::wait_for(short events, const char *what) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock::now()).count();
    pollfd one{descriptor_, events, 0};
    const int found = poll(&one, 1, static_cast<int>(std::clamp<long long>(left, 0, 1000000000)));
    if (found == 0) {
        throw failure(status::timed_out, fmt::format("{} in time", what));
    }
    if (found < 0) {
        throw failure(errno == EINTR ? status::interrupted : status::other, std::strerror(errno));
    }
}

void raw_peer::connect_to(const void *address, unsigned length) {
    if (descriptor_ >= 0) {
        close(descriptor_);
    }
    const auto *to = static_cast<const sockaddr *>(address);
    descriptor_ = ::socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = descriptor_ < 0 || ::connect(descriptor_, to, length) != 0 ? errno : 0;
    if (error == EINPROGRESS) {
        wait_for(POLLOUT, "no connection");
        socklen_t size = sizeof error;
        getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) {
        throw failure(status::unreachable, std::strerror(error));
    }
}

std::string raw_peer::connect(const std::string &endpoint) {
    if (endpoint.rfind("ipc://", 0) == 0) {
        const std::string path = endpoint.substr(6);
        const socket_address address = ipc_address(path);
        connect_to(&address.octets, address.size);
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
            connect_to(each->ai_addr, each->ai_addrlen);
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

void raw_peer::write(const std::string &octets) {
    size_t written = 0;
    while (written < octets.size()) {
        wait_for(POLLOUT, "the peer does not read");
        const ssize_t count =
            send(descriptor_, octets.data() + written, octets.size() - written, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN && errno != EINTR) {
            throw failure(status::peer_gone, fmt::format("the peer has gone: {}", std::strerror(errno)));
        }
        written += count > 0 ? static_cast<size_t>(count) : 0;
    }
}

std::string raw_peer::read(size_t count) {
    std::string octets;
    std::array<char, 65536> buffer;
    while (octets.size() < count) {
        wait_for(POLLIN, "the peer says nothing");
        const ssize_t got =
            recv(descriptor_, buffer.data(), std::min(buffer.size(), count - octets.size()), 0);
        if (got == 0) {
            throw failure(status::peer_gone, "the peer has closed the connection");
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            throw failure(status::peer_gone, fmt::format("the peer has gone: {}", std::strerror(errno)));
        }
        octets.append(buffer.data(), got > 0 ? static_cast<size_t>(got) : 0);
    }
    return octets;
}

greeting raw_peer::greet() {
    using namespace std::string_literals;
    write("\xff\0\0\0\0\0\0\0\0\x7f\3"s);
    const std::string first = read(1);
    if (first[0] != '\xff') {
        throw failure(status::protocol,
                      guess_of(first + (first[0] == 'H' || first[0] == 'S' ? read(3) : "")));
    }
    const std::string signature = read(9), version = read(1);
    if ((signature.back() & 1) == 0) {
        throw failure(status::protocol, "the peer does not speak ZMTP: its greeting has no signature");
    }
    greeting said;
    said.major = static_cast<unsigned char>(version[0]);
    if (said.major < 3) {
        return said;
    }
    said.minor = static_cast<unsigned char>(read(1)[0]);
    const std::string mechanism = read(20);
    said.mechanism = mechanism.substr(0, mechanism.find('\0'));
    said.is_server = read(1)[0] != 0;
    read(31);
    if (said.mechanism == "NULL") {
        write("\1NULL"s + std::string(16 + 1 + 31, '\0'));
    }
    return said;
}

raw_peer::frame raw_peer::read_frame() {
    const auto flags = static_cast<unsigned char>(read(1)[0]);
    if ((flags & ~(flag_more | flag_long | flag_command)) != 0) {
        throw failure(status::protocol, "the peer has sent no frame of ZMTP");
    }
    const std::uint64_t size = big_endian(read((flags & flag_long) != 0 ? 8 : 1));
    const bool is_command = (flags & flag_command) != 0;
    if (size > (is_command ? largest_command : largest_message)) {
        throw failure(status::protocol, fmt::format("the peer has announced a frame of {} octets", size));
    }
    return {is_command, (flags & flag_more) != 0, read(size)};
}

std::map<std::string, std::string> raw_peer::read_ready() {
    const frame got = read_frame();
    const std::string &body = got.body;
    if (got.is_command && body.rfind("\5ERROR", 0) == 0 && body.size() > 7) {
        throw failure(status::refused, "the peer refuses: " + escaped(body.substr(7)));
    }
    if (!got.is_command || body.rfind("\5READY", 0) != 0) {
        throw failure(status::protocol, "the peer has sent something else than READY");
    }
    std::map<std::string, std::string> properties;
    for (size_t at = 6; at < body.size();) {
        const size_t name_size = static_cast<unsigned char>(body[at]);
        const size_t value_at = at + 1 + name_size + 4;
        if (value_at > body.size()) {
            throw failure(status::protocol, "the peer has sent a malformed READY");
        }
        const std::uint64_t value_size = big_endian(body.substr(value_at - 4, 4));
        if (value_size > body.size() - value_at) {
            throw failure(status::protocol, "the peer has sent a malformed READY");
        }
        properties[body.substr(at + 1, name_size)] = body.substr(value_at, value_size);
        at = value_at + value_size;
    }
    return properties;
}

void raw_peer::send_ready(const std::string &type) {
    using namespace std::string_literals;
    write(frame_of(flag_command, "\5READY\x0bSocket-Type\0\0\0"s + static_cast<char>(type.size()) + type));
}

void raw_peer::finish(const std::string &type) {
    try {
        send_ready(type);
        wait_until_closed();
    } catch (const failure &) {
        // It has told all that was asked for, and may go as it likes.
    }
}

/// Closing while octets of the peer are unread would reset the connection, and take READY along.
void raw_peer::wait_until_closed() {
    constexpr std::chrono::seconds patience(1);
    deadline_ = std::min(deadline_, clock::now() + patience);
    shutdown(descriptor_, SHUT_WR);
    for (;;) {
        read(1);
    }
}

void raw_peer::subscribe_to_all() { write(frame_of(0, "\1")); }

std::string raw_peer::read_message(size_t &size, size_t &parts) {
    std::string first;
    for (bool more = true; more;) {
        frame got = read_frame();
        if (got.is_command) {
            continue;
        }
        size += got.body.size();
        more = got.has_more;
        if (parts++ == 0) {
            first = std::move(got.body);
        }
    }
    return first;
}

}  // namespace command
