// Contexts and sockets of zmq.h with owners, for tests that use the library as a program does.
//
// Every socket starts with LINGER 0 and with time limits on sending and receiving, so that a fault
// ends a test instead of stopping it. Failures are ordinary return values with errno, because most
// tests are about them.
#pragma once

#ifdef ZLINK_TESTS_WITH_TLS
#include "certificates.hpp"
#endif
#include "eventually.hpp"
#include "scratch_endpoint.hpp"

#include <zmq.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace zlink_test {

using frames = std::vector<std::string>;

class test_socket {
public:
    test_socket() = default;
    test_socket(void *context, int type) : handle_(zmq_socket(context, type)) {
        if (!handle_)
            return;
        set(ZMQ_LINGER, 0);
        set(ZMQ_RCVTIMEO, patience_ms);
        set(ZMQ_SNDTIMEO, patience_ms);
    }
    test_socket(test_socket &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    test_socket &operator=(test_socket &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~test_socket() { close(); }

    void *handle() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

    int close() { return handle_ ? zmq_close(std::exchange(handle_, nullptr)) : 0; }

    int set(int option, int value) { return zmq_setsockopt(handle_, option, &value, sizeof value); }
    int set(int option, std::string_view value) {
        return zmq_setsockopt(handle_, option, value.data(), value.size());
    }
    int get(int option) const {
        int value = -1;
        std::size_t size = sizeof value;
        EXPECT_EQ(zmq_getsockopt(handle_, option, &value, &size), 0) << zmq_strerror(zmq_errno());
        return value;
    }
    std::string get_text(int option) const {
        char text[512];
        std::size_t size = sizeof text;
        EXPECT_EQ(zmq_getsockopt(handle_, option, text, &size), 0) << zmq_strerror(zmq_errno());
        return std::string(text, size);
    }
    std::string last_endpoint() const {
        const std::string text = get_text(ZMQ_LAST_ENDPOINT);
        return text.substr(0, text.find('\0'));
    }

    // Binds and returns the endpoint to connect to, without wild-cards.
    std::string bind(const std::string &endpoint) {
        secure(endpoint);
        EXPECT_EQ(zmq_bind(handle_, endpoint.c_str()), 0) << endpoint << ": " << zmq_strerror(zmq_errno());
        return last_endpoint();
    }
    void connect(const std::string &endpoint) {
        secure(endpoint);
        EXPECT_EQ(zmq_connect(handle_, endpoint.c_str()), 0) << endpoint << ": " << zmq_strerror(zmq_errno());
    }
    int disconnect(const std::string &endpoint) { return zmq_disconnect(handle_, endpoint.c_str()); }
    int unbind(const std::string &endpoint) { return zmq_unbind(handle_, endpoint.c_str()); }

    int send(std::string_view frame, int flags = 0) {
        return zmq_send(handle_, frame.data(), frame.size(), flags);
    }
    // All frames of one message; true if every one was taken.
    bool send_all(const frames &message, int flags = 0) {
        for (std::size_t i = 0; i < message.size(); ++i)
            if (send(message[i], flags | (i + 1 < message.size() ? ZMQ_SNDMORE : 0)) == -1)
                return false;
        return true;
    }
    std::optional<std::string> receive(int flags = 0) {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        std::optional<std::string> text;
        if (zmq_msg_recv(&frame, handle_, flags) != -1)
            text.emplace(static_cast<const char *>(zmq_msg_data(&frame)), zmq_msg_size(&frame));
        const int error = zmq_errno();
        zmq_msg_close(&frame);
        errno = error;
        return text;
    }
    // The frames of one message; empty if none came.
    frames receive_all(int flags = 0) {
        frames message;
        do {
            std::optional<std::string> frame = receive(flags);
            if (!frame)
                return message;
            message.push_back(*frame);
        } while (get(ZMQ_RCVMORE));
        return message;
    }

    bool has_input(int timeout_ms = patience_ms) { return polled(ZMQ_POLLIN, timeout_ms); }
    bool has_room(int timeout_ms = patience_ms) { return polled(ZMQ_POLLOUT, timeout_ms); }

private:
    // A socket that has not been given certificates has good ones.
    void secure([[maybe_unused]] const std::string &endpoint) {
#ifdef ZLINK_TESTS_WITH_TLS
        if ((endpoint.starts_with("tls:") || endpoint.starts_with("wss:")) &&
            get_text(ZMQ_TLS_CERT).size() == 1 && get_text(ZMQ_TLS_CA).size() == 1) {
            set(ZMQ_TLS_CERT, good().cert);
            set(ZMQ_TLS_KEY, good().key);
            set(ZMQ_TLS_CA, good().ca);
        }
#endif
    }

    bool polled(short events, int timeout_ms) {
        zmq_pollitem_t item{handle_, 0, events, 0};
        return zmq_poll(&item, 1, timeout_ms) == 1;
    }

    void *handle_ = nullptr;
};

// Declare it before its sockets: termination waits for them.
class context {
public:
    context() : handle_(zmq_ctx_new()) {}
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    ~context() { term(); }

    void *handle() const { return handle_; }
    test_socket socket(int type) { return test_socket(handle_, type); }
    int set(int option, int value) { return zmq_ctx_set(handle_, option, value); }
    int get(int option) { return zmq_ctx_get(handle_, option); }
    int shutdown() { return zmq_ctx_shutdown(handle_); }
    int term() { return handle_ ? zmq_ctx_term(std::exchange(handle_, nullptr)) : 0; }

private:
    void *handle_;
};

// An endpoint that can be bound, and where nobody listens now.
inline std::string deserted_endpoint() {
    context elsewhere;
    return elsewhere.socket(ZMQ_PAIR).bind(scratch_endpoint("tcp"));
}

// An endpoint that can be bound again and again, where nobody listens now. Its name has no
// wild-cards.
inline std::string lasting_endpoint(const std::string &transport) {
    if (has_ports(transport))
        return transport + deserted_endpoint().substr(3);
    static std::atomic<int> number{0};
    const std::string name = std::to_string(::getpid()) + "-" + std::to_string(++number);
    if (transport == "ipc")
        return "ipc://@zlink-lasting-" + name;
    if (transport == "inproc")
        return "inproc://lasting-" + name;
    throw std::invalid_argument("lasting_endpoint() does not know what an address of " + transport + " is");
}

inline constexpr int everything = ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS;

// Holds what one monitor message says.
struct monitor_event {
    int event = 0;
    int value = 0;
    std::string endpoint;
    std::string words;                         // of a reason
    std::string address, routing_id, user_id;  // of a peer that is named
};

// Listens to the events of one socket.
class monitor {
public:
    monitor(context &owner, test_socket &watched, int events = ZMQ_EVENT_ALL)
        : watched_(watched), has_names_(events > 0 && (events & zlink_peer_names)) {
        const std::string name = scratch_endpoint("inproc");
        EXPECT_EQ(zmq_socket_monitor(watched.handle(), name.c_str(), events), 0) << zmq_strerror(zmq_errno());
        listener_ = owner.socket(ZMQ_PAIR);
        listener_.connect(name);
    }
    ~monitor() { stop(); }

    void stop() {
        if (watched_)
            zmq_socket_monitor(watched_.handle(), nullptr, 0);
    }
    bool has_input() { return listener_.has_input(0); }
    // The next event; event 0 if none comes.
    monitor_event next() {
        const frames message = listener_.receive_all();
        monitor_event found;
        if (message.size() < 2 || message[0].size() != 6)
            return found;
        std::uint16_t event;
        std::uint32_t value;
        std::memcpy(&event, message[0].data(), sizeof event);
        std::memcpy(&value, message[0].data() + sizeof event, sizeof value);
        found.event = event;
        found.value = static_cast<int>(value);
        found.endpoint = message[1];
        std::size_t at = 2;
        if ((event == zlink_slow_peer || has_names_) && message.size() >= 5) {
            found.address = message[at++];
            found.routing_id = message[at++];
            found.user_id = message[at++];
        }
        if (event == zlink_reason && at < message.size())
            found.words = message[at++];
        EXPECT_EQ(message.size(), at) << "of event " << event;
        return found;
    }
    // The next event of this kind, others are skipped.
    monitor_event next(int kind) {
        for (;;) {
            monitor_event found = next();
            if (found.event == kind || found.event == 0)
                return found;
        }
    }

private:
    static constexpr int zlink_reason = 0x8000;  // libzmq has neither
    static constexpr int zlink_slow_peer = 0x8001;
    static constexpr int zlink_peer_names = 0x10000000;
    test_socket &watched_;
    const bool has_names_;
    test_socket listener_;
};

// Binds one socket, connects the other, and returns the endpoint when both are attached. No
// messages are used up.
inline std::string connected(context &owner, test_socket &bound, test_socket &connecting,
                             const std::string &transport = "tcp") {
    if (transport == "inproc") {
        const std::string endpoint = bound.bind(scratch_endpoint(transport));
        connecting.connect(endpoint);
        return endpoint;
    }
    monitor at_bound(owner, bound, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    monitor at_connecting(owner, connecting, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    const std::string endpoint = bound.bind(scratch_endpoint(transport));
    connecting.connect(endpoint);
    EXPECT_EQ(at_bound.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    EXPECT_EQ(at_connecting.next().event, ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
    return endpoint;
}

// For a call that must fail: checks the result and the errno.
#define EXPECT_FAILS(error, call)                                                                            \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        EXPECT_EQ((call), -1);                                                                               \
        EXPECT_EQ(zmq_errno(), (error)) << zmq_strerror(zmq_errno());                                        \
    } while (false)

}  // namespace zlink_test
