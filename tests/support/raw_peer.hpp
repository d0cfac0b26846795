// A peer made of a bare socket: says what a test tells it to, octet by octet. Uses zmq.h and the
// system only.
#pragma once

#include "eventually.hpp"

#include <zmq.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace zlink::test {

using zlink_test::patience_ms;

// ---- octets ----

inline std::string frame(std::uint8_t flags, std::string_view body) {
    std::string out;
    if (body.size() < 256) {
        out = {static_cast<char>(flags), static_cast<char>(body.size())};
    } else {
        out = {static_cast<char>(flags | 2)};
        for (int shift = 56; shift >= 0; shift -= 8)
            out += static_cast<char>(static_cast<std::uint64_t>(body.size()) >> shift);
    }
    return out.append(body);
}
/// The header of a long frame, of whatever size.
inline std::string long_header(std::uint8_t flags, std::uint64_t size) {
    std::string out(1, static_cast<char>(flags | 2));
    for (int shift = 56; shift >= 0; shift -= 8)
        out += static_cast<char>(size >> shift);
    return out;
}
inline std::string message(std::string_view body, bool more = false) { return frame(more ? 1 : 0, body); }
inline std::string command(std::string_view name, std::string_view data = {}) {
    std::string body(1, static_cast<char>(name.size()));
    return frame(4, body.append(name).append(data));
}
inline std::string property(std::string_view name, std::string_view value) {
    std::string out(1, static_cast<char>(name.size()));
    out.append(name);
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(value.size() >> shift);
    return out.append(value);
}
inline std::string ready(std::string_view type) { return command("READY", property("Socket-Type", type)); }
inline std::string greeting(std::string_view mechanism = "NULL") {
    std::string out("\xff\0\0\0\0\0\0\0\0\x7f\x03\x01", 12);
    out.append(mechanism).append(20 - mechanism.size(), '\0');
    return out.append(32, '\0');
}

// ---- the peer ----

class raw_peer {
public:
    raw_peer() = default;
    explicit raw_peer(int descriptor) : descriptor_(descriptor) {}
    explicit raw_peer(const std::string &endpoint) { connect(endpoint); }
    ~raw_peer() { close(); }
    raw_peer(raw_peer &&other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    raw_peer &operator=(raw_peer &&other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }

    int descriptor() const { return descriptor_; }
    bool has_input(int within_ms = patience_ms) { return wait(within_ms); }
    bool is_open() const { return descriptor_ >= 0; }
    void close() {
        if (descriptor_ >= 0)
            ::close(std::exchange(descriptor_, -1));
    }
    void finish_writing() { ::shutdown(descriptor_, SHUT_WR); }

    /// Sends everything; false when the other side is gone or takes no more.
    bool send(std::string_view octets) {
        while (!octets.empty()) {
            const ssize_t n = ::send(descriptor_, octets.data(), octets.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            octets.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }
    /// Over ipc: with a descriptor beside them (SCM_RIGHTS), at which a read of the other side
    ///           ends.
    bool send_with_descriptor(std::string_view octets, int given = STDERR_FILENO) {
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        iovec range{const_cast<char *>(octets.data()), octets.size()};
        msghdr message{};
        message.msg_iov = &range;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr *beside = CMSG_FIRSTHDR(&message);
        beside->cmsg_level = SOL_SOCKET;
        beside->cmsg_type = SCM_RIGHTS;
        beside->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(beside), &given, sizeof given);
        return ::sendmsg(descriptor_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(octets.size());
    }
    bool send_slowly(std::string_view octets) {
        for (const char octet : octets)
            if (!send({&octet, 1}))
                return false;
        return true;
    }
    /// Receives exactly so many octets; fewer when the stream ends, or patience does.
    std::string receive(std::size_t count) {
        std::string out;
        while (out.size() < count && wait()) {
            char buffer[65536];
            const ssize_t n = ::recv(descriptor_, buffer, std::min(sizeof buffer, count - out.size()), 0);
            if (n <= 0)
                break;
            out.append(buffer, static_cast<std::size_t>(n));
        }
        return out;
    }
    /// The flags and the body of the next frame; flags 0xff when there is none.
    std::pair<std::uint8_t, std::string> receive_frame() {
        const std::string start = receive(2);
        if (start.size() < 2)
            return {0xff, {}};
        const auto flags = static_cast<std::uint8_t>(start[0]);
        std::uint64_t size = static_cast<std::uint8_t>(start[1]);
        if (flags & 2)
            for (const char octet : receive(7))
                size = size << 8 | static_cast<std::uint8_t>(octet);
        return {flags, receive(size)};
    }
    /// Says greeting and READY, and takes in the other side's.
    bool shake_hands(std::string_view type) {
        return send(greeting() + ready(type)) && receive(64).size() == 64 &&
               receive_frame().second.substr(0, 6) == "\5READY";
    }
    /// Reads until the other side closes; false when it does not.
    bool is_closed_by_other_side() {
        char buffer[65536];
        while (wait()) {
            const ssize_t n = ::recv(descriptor_, buffer, sizeof buffer, 0);
            if (n <= 0)
                return n == 0 || errno == ECONNRESET || errno == EPIPE;
        }
        return false;
    }

private:
    bool wait(int within_ms = patience_ms) {
        pollfd item{descriptor_, POLLIN, 0};
        return ::poll(&item, 1, within_ms) == 1;
    }
    void connect(const std::string &endpoint) {
        if (endpoint.starts_with("ipc://")) {
            sockaddr_un to{};
            to.sun_family = AF_UNIX;
            endpoint.copy(to.sun_path, sizeof to.sun_path - 1, 6);
            open(AF_UNIX, reinterpret_cast<sockaddr *>(&to), sizeof to);
            return;
        }
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        open(AF_INET, reinterpret_cast<sockaddr *>(&to), sizeof to);
    }
    void open(int family, const sockaddr *to, socklen_t length) {
        descriptor_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(descriptor_, to, length) != 0)
            close();
    }

    int descriptor_ = -1;
};

/// A listening socket: tcp on a free port, or ipc under a free abstract name.
class raw_listener {
public:
    explicit raw_listener(std::string_view transport = "tcp") {
        if (transport == "ipc") {
            // The kernel chooses the name: five digits (unix(7), autobind).
            sockaddr_un here{};
            here.sun_family = AF_UNIX;
            const socklen_t length =
                listen(reinterpret_cast<sockaddr *>(&here), sizeof here.sun_family, sizeof here);
            const std::size_t name_at = offsetof(sockaddr_un, sun_path) + 1;
            endpoint_ = "ipc://@" + std::string(here.sun_path + 1, length - name_at);
            return;
        }
        sockaddr_in here{};
        here.sin_family = AF_INET;
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        (void)listen(reinterpret_cast<sockaddr *>(&here), sizeof here, sizeof here);
        endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    }
    ~raw_listener() { ::close(descriptor_); }
    const std::string &endpoint() const { return endpoint_; }
    raw_peer accept() {
        return is_called(patience_ms) ? raw_peer(::accept(descriptor_, nullptr, nullptr)) : raw_peer();
    }
    bool is_called(int within_ms) {
        pollfd item{descriptor_, POLLIN, 0};
        return ::poll(&item, 1, within_ms) == 1;
    }

private:
    // Binds to `here`, writes what it has become, and returns its length.
    socklen_t listen(sockaddr *here, socklen_t length, socklen_t space) {
        descriptor_ = ::socket(here->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)::bind(descriptor_, here, length);
        (void)::listen(descriptor_, 64);
        (void)::getsockname(descriptor_, here, &space);
        return space;
    }

    int descriptor_ = -1;
    std::string endpoint_;
};

// ---- sockets of the library ----

class zmq_context {
public:
    ~zmq_context() { zmq_ctx_term(get_); }
    operator void *() const { return get_; }

private:
    void *get_ = zmq_ctx_new();
};

class zmq_socket_of {
public:
    zmq_socket_of(void *context, int type) : get_(zmq_socket(context, type)) {
        set(ZMQ_LINGER, 0);
        set(ZMQ_RCVTIMEO, patience_ms);
        set(ZMQ_SNDTIMEO, patience_ms);
    }
    ~zmq_socket_of() { close(); }
    zmq_socket_of(const zmq_socket_of &) = delete;
    zmq_socket_of &operator=(const zmq_socket_of &) = delete;
    operator void *() const { return get_; }
    void close() {
        if (get_)
            zmq_close(std::exchange(get_, nullptr));
    }
    int set(int option, int value) { return zmq_setsockopt(get_, option, &value, sizeof value); }
    int set(int option, std::string_view value) {
        return zmq_setsockopt(get_, option, value.data(), value.size());
    }
    /// Binds and returns the resolved endpoint; empty when that fails.
    std::string bind(const std::string &endpoint) {
        char text[256];
        std::size_t size = sizeof text;
        if (zmq_bind(get_, endpoint.c_str()) != 0 ||
            zmq_getsockopt(get_, ZMQ_LAST_ENDPOINT, text, &size) != 0)
            return {};
        return text;
    }
    bool connect(const std::string &endpoint) { return zmq_connect(get_, endpoint.c_str()) == 0; }
    bool send(std::string_view body, int flags = 0) {
        return zmq_send(get_, body.data(), body.size(), flags) == static_cast<int>(body.size());
    }
    /// The next frame; "<none>" when nothing comes.
    std::string receive(int flags = 0) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        std::string out = "<none>";
        if (zmq_msg_recv(&part, get_, flags) >= 0)
            out.assign(static_cast<const char *>(zmq_msg_data(&part)), zmq_msg_size(&part));
        zmq_msg_close(&part);
        return out;
    }

private:
    void *get_;
};

/// The events of one socket, as a monitor gives them.
class event_log {
public:
    event_log(void *context, void *of, const std::string &name) : socket_(context, ZMQ_PAIR) {
        const std::string endpoint = "inproc://" + name;
        zmq_socket_monitor(of, endpoint.c_str(), ZMQ_EVENT_ALL);
        socket_.connect(endpoint);
    }
    struct event {
        int kind = 0;
        int value = 0;
        std::string endpoint;
    };
    event next() {
        event out;
        const std::string record = socket_.receive();
        std::uint16_t kind = 0;
        if (record.size() != 6)
            return out;
        std::memcpy(&kind, record.data(), 2);
        std::memcpy(&out.value, record.data() + 2, 4);
        out.kind = kind;
        out.endpoint = socket_.receive();
        return out;
    }
    /// Passes over events up to the next of this kind.
    event next_of(int kind) {
        for (;;)
            if (const event e = next(); e.kind == kind || e.kind == 0)
                return e;
    }

    void close() { socket_.close(); }

private:
    zmq_socket_of socket_;
};

}  // namespace zlink::test
