// Sockets that are connected and exchange messages of 64 octets: what the guards have in common.
//
// Uses zmq.h and the system only. A failure ends the program, for most of it runs under a tracer.
#pragma once

#include <zmq.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#ifdef ZLINK_TESTS_WITH_TLS
#include "certificates.hpp"
#endif

namespace guard {

inline constexpr std::size_t message_size = 64;
inline constexpr int patience_ms = 60000;  // valgrind is slow

[[noreturn]] inline void fail(const char *what) {
    std::fprintf(stderr, "FAILED: %s (%s)\n", what, zmq_strerror(zmq_errno()));
    std::fflush(nullptr);
    ::_exit(1);
}

inline void require(bool good, const char *what) {
    if (!good)
        fail(what);
}

struct pattern {
    const char *name;
    int sender;
    int receiver;
    bool answers;        // messages may go either way
    bool polls = false;  // the receiver asks with zmq_poll before it receives
};

inline constexpr pattern patterns[] = {
    {"PAIR", ZMQ_PAIR, ZMQ_PAIR, true},
    {"PUSH_PULL", ZMQ_PUSH, ZMQ_PULL, false},
    {"PUB_SUB", ZMQ_PUB, ZMQ_SUB, false},
    {"DEALER_ROUTER", ZMQ_DEALER, ZMQ_ROUTER, true},
    {"ROUTER_ROUTER", ZMQ_ROUTER, ZMQ_ROUTER, true},
    {"ROUTER_ROUTER_POLL", ZMQ_ROUTER, ZMQ_ROUTER, true, true},
};

inline const pattern &find_pattern(std::string_view name) {
    for (const pattern &each : patterns)
        if (name == each.name)
            return each;
    fail("no such pattern");
}

class context {
public:
    context() : handle_(zmq_ctx_new()) { require(handle_ != nullptr, "zmq_ctx_new"); }
    context(const context &) = delete;
    context &operator=(const context &) = delete;
    ~context() { zmq_ctx_term(handle_); }
    void *handle() const { return handle_; }

private:
    void *const handle_;
};

/// One socket, called `name` by its peer if that is a ROUTER. One that is a ROUTER itself sends to
/// the peer `to`.
class end {
public:
    end(const context &owner, int type, std::string name, std::string to)
        : handle_(zmq_socket(owner.handle(), type)), type_(type), to_(std::move(to)) {
        require(handle_ != nullptr, "zmq_socket");
        set(ZMQ_LINGER, 0);
        set(ZMQ_SNDTIMEO, patience_ms);
        set(ZMQ_RCVTIMEO, patience_ms);
        if (type == ZMQ_PUB)
            set(ZMQ_XPUB_NODROP, 1);
        if (type == ZMQ_SUB)
            set(ZMQ_SUBSCRIBE, std::string_view());
        if (type == ZMQ_ROUTER)
            set(ZMQ_ROUTER_MANDATORY, 1);
        if (type == ZMQ_ROUTER || type == ZMQ_DEALER)
            set(ZMQ_ROUTING_ID, std::string_view(name));
        std::memset(body_, 'g', sizeof body_);
    }
    end(end &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), type_(other.type_), to_(std::move(other.to_)),
          lends_(other.lends_) {
        std::memcpy(body_, other.body_, sizeof body_);
    }
    ~end() {
        if (handle_)
            zmq_close(handle_);
    }
    void *handle() const { return handle_; }

    void set(int option, int value) {
        require(zmq_setsockopt(handle_, option, &value, sizeof value) == 0, "zmq_setsockopt");
    }
    void set(int option, std::string_view value) {
        require(zmq_setsockopt(handle_, option, value.data(), value.size()) == 0, "zmq_setsockopt");
    }
    /// Returns what to connect to.
    std::string bind(const std::string &transport) {
        static int number = 0;
        std::string where = transport + "://127.0.0.1:*";
        if (transport == "ipc")
            where = "ipc://*";
        if (transport == "inproc")
            where = "inproc://guard-" + std::to_string(++number);
        secure(where);
        char text[256];
        std::size_t size = sizeof text;
        require(zmq_bind(handle_, where.c_str()) == 0, "zmq_bind");
        require(zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text, &size) == 0, "ZMQ_LAST_ENDPOINT");
        return text;
    }
    /// A ROUTER can send at once.
    void connect(const std::string &endpoint) {
        if (type_ == ZMQ_ROUTER)
            set(ZMQ_CONNECT_ROUTING_ID, std::string_view(to_));
        secure(endpoint);
        require(zmq_connect(handle_, endpoint.c_str()) == 0, "zmq_connect");
    }

    /// Has send() lend its memory from now on.
    void lend() { lends_ = true; }
    /// False when there is no room and `flags` say not to wait.
    bool send(int flags = 0) {
        if (type_ == ZMQ_ROUTER && zmq_send(handle_, to_.data(), to_.size(), flags | ZMQ_SNDMORE) < 0) {
            require(zmq_errno() == EAGAIN && (flags & ZMQ_DONTWAIT), "send of a routing id");
            return false;
        }
        if ((lends_ ? send_lent(flags) : zmq_send(handle_, body_, sizeof body_, flags)) == message_size)
            return true;
        require(zmq_errno() == EAGAIN && (flags & ZMQ_DONTWAIT), "send");
        return false;
    }
    void receive() {
        char buffer[2 * message_size];
        if (type_ == ZMQ_ROUTER)
            require(zmq_recv(handle_, buffer, sizeof buffer, 0) == static_cast<int>(to_.size()),
                    "receive of a routing id");
        require(zmq_recv(handle_, buffer, sizeof buffer, 0) == message_size, "receive");
        require(std::memcmp(buffer, body_, message_size) == 0, "content of a message");
    }
    bool has_input(long timeout_ms) {
        zmq_pollitem_t item{handle_, 0, ZMQ_POLLIN, 0};
        return zmq_poll(&item, 1, timeout_ms) == 1;
    }

private:
    void secure([[maybe_unused]] const std::string &endpoint) {
#ifdef ZLINK_TESTS_WITH_TLS
        if (endpoint.compare(0, 4, "tls:") != 0)
            return;
        set(ZMQ_TLS_CERT, zlink_test::good().cert);
        set(ZMQ_TLS_KEY, zlink_test::good().key);
        set(ZMQ_TLS_CA, zlink_test::good().ca);
#endif
    }
    int send_lent(int flags) {
        zmq_msg_t message;
        require(zmq_msg_init_data(
                    &message, body_, sizeof body_, [](void *, void *) {}, nullptr) == 0,
                "zmq_msg_init_data");
        const int sent = zmq_msg_send(&message, handle_, flags);
        if (sent < 0) {
            const int number = zmq_errno();
            zmq_msg_close(&message);
            errno = number;
        }
        return sent;
    }

    void *handle_;
    int type_;
    std::string to_;
    bool lends_ = false;
    char body_[message_size];
};

/// A sender and a receiver. The receiver binds, but a publisher does so itself.
class two_ends {
public:
    two_ends(const context &owner, const pattern &kind, const std::string &transport)
        : sender(owner, kind.sender, "sender", "receiver"),
          receiver(owner, kind.receiver, "receiver", "sender") {
        const bool sender_binds = kind.sender == ZMQ_PUB;
        end &bound = sender_binds ? sender : receiver;
        end &connecting = sender_binds ? receiver : sender;
        connecting.connect(bound.bind(transport));
        if (!sender_binds)
            return;
        // Whatever is published before the subscription has arrived is dropped.
        do
            sender.send();
        while (!receiver.has_input(1));
        // It is not known how many of them came: the last one is, for it has more frames.
        require(zmq_send(sender.handle(), "", 0, ZMQ_SNDMORE) == 0, "send of the last one");
        require(zmq_send(sender.handle(), "", 0, 0) == 0, "send of the last one");
        int more = 0;
        std::size_t more_size = sizeof more;
        char buffer[message_size];
        do {
            require(zmq_recv(receiver.handle(), buffer, sizeof buffer, 0) >= 0, "receive of the first ones");
            require(zmq_getsockopt(receiver.handle(), ZMQ_RCVMORE, &more, &more_size) == 0, "ZMQ_RCVMORE");
        } while (!more);
        require(zmq_recv(receiver.handle(), buffer, sizeof buffer, 0) == 0, "receive of the last one");
    }

    end sender;
    end receiver;
};

}  // namespace guard
