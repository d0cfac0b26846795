// Holds what the fuzz targets of whole sockets share: a socket of each type, an honest peer for
// each, and a stranger that says what the fuzzer makes up. Through zmq.h, over ipc: the ports of
// tcp would run out.
//
// Input:    type:1 | piece:1 | octets.
//           The octets are sent in pieces of that size; 0 sends them at once.
// Checks:   the stranger's connection ends after it has finished, and the honest peer is served
//           before and after.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>

#include "core/invariant.hpp"
#include "raw_peer.hpp"

namespace zlink::test {

struct fuzzed_role {
    int type;
    int honest_type;
    const char *stranger;  // the socket type that the stranger gives as its own
};

inline constexpr fuzzed_role fuzzed_roles[] = {
    {ZMQ_PULL, ZMQ_PUSH, "PUSH"}, {ZMQ_DEALER, ZMQ_DEALER, "DEALER"}, {ZMQ_ROUTER, ZMQ_DEALER, "DEALER"},
    {ZMQ_REP, ZMQ_REQ, "REQ"},    {ZMQ_XPUB, ZMQ_SUB, "SUB"},         {ZMQ_SUB, ZMQ_XPUB, "PUB"},
};

// Files for TLS.
struct fuzzed_security {
    std::string cert, key, ca;
};
// Set before the first of them.
inline const fuzzed_security *security_of_fuzzed_sockets = nullptr;
inline std::string address_of_fuzzed_sockets = "ipc://*";

// One socket that the stranger talks to.
class fuzzed_socket {
public:
    fuzzed_socket(void *context, const fuzzed_role &role)
        : role_(role), socket_(context, role.type), honest_(context, role.honest_type) {
        if (const fuzzed_security *const files = security_of_fuzzed_sockets)
            for (zmq_socket_of *each : {&socket_, &honest_}) {
                each->set(ZMQ_TLS_CERT, files->cert);
                each->set(ZMQ_TLS_KEY, files->key);
                each->set(ZMQ_TLS_CA, files->ca);
            }
        if (role_.type == ZMQ_SUB)
            socket_.set(ZMQ_SUBSCRIBE, "");
        honest_.set(ZMQ_ROUTING_ID, "honest");
        endpoint_ = socket_.bind(address_of_fuzzed_sockets);
        ZLINK_INVARIANT(!endpoint_.empty() && honest_.connect(endpoint_));
        // A bound socket subscribes to a new publisher during a call.
        while (role_.type == ZMQ_SUB && honest_.receive(ZMQ_DONTWAIT) != "\1")
            (void)socket_.receive(ZMQ_DONTWAIT);
        serve_honest_peer();
    }

    const std::string &endpoint() const { return endpoint_; }
    void *handle() const { return socket_; }
    const char *stranger() const { return role_.stranger; }

    // The stranger has said everything. What came of it is taken in until its connection ends.
    void part_from(raw_peer &stranger) {
        stranger.finish_writing();
        const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
        while (!has_ended(stranger)) {
            ZLINK_INVARIANT(std::chrono::steady_clock::now() < limit);
            while (take(ZMQ_DONTWAIT) != "<none>") {
            }
        }
    }

    void serve_honest_peer() {
        const std::string token = "honest message " + std::to_string(++count_);
        if (role_.type == ZMQ_XPUB) {
            honest_.set(ZMQ_SUBSCRIBE, token);
            expect("\1" + token);
            ZLINK_INVARIANT(socket_.send(token));
            ZLINK_INVARIANT(honest_.receive() == token);
            honest_.set(ZMQ_UNSUBSCRIBE, token);
            return;
        }
        ZLINK_INVARIANT(honest_.send(token));
        expect(token);
        if (role_.type == ZMQ_ROUTER)
            ZLINK_INVARIANT(socket_.send("honest", ZMQ_SNDMORE) && socket_.send(token));
        if (role_.type == ZMQ_ROUTER || role_.type == ZMQ_REP)
            ZLINK_INVARIANT(honest_.receive() == token);
    }

private:
    // The last frame of the next message; "<none>" when there is no message. A REP gives it back as
    // the answer.
    std::string take(int flags) {
        std::string last = socket_.receive(flags);
        int more = 0;
        std::size_t size = sizeof more;
        while (zmq_getsockopt(socket_, ZMQ_RCVMORE, &more, &size) == 0 && more)
            last = socket_.receive();
        if (role_.type == ZMQ_REP && last != "<none>")
            ZLINK_INVARIANT(socket_.send(last));
        return last;
    }
    // Passes over what the stranger sent.
    void expect(std::string_view token) {
        for (;;) {
            const std::string found = take(0);
            ZLINK_INVARIANT(found != "<none>");
            if (found == token)
                return;
        }
    }
    static bool has_ended(raw_peer &stranger) {
        pollfd item{stranger.descriptor(), POLLIN, 0};
        if (::poll(&item, 1, 1) != 1)
            return false;
        char buffer[4096];
        return ::recv(stranger.descriptor(), buffer, sizeof buffer, 0) <= 0;
    }

    const fuzzed_role role_;
    zmq_socket_of socket_;
    zmq_socket_of honest_;
    std::string endpoint_;
    unsigned long count_ = 0;
};

// The input, cut up.
class fuzzed_speech {
public:
    fuzzed_speech(const std::uint8_t *data, std::size_t size)
        : type_(data[0]), piece_(data[1]), octets_(reinterpret_cast<const char *>(data + 2), size - 2) {}

    // The sockets live as long as the process.
    fuzzed_socket &socket() const {
        static zmq_context context;
        static std::array<std::unique_ptr<fuzzed_socket>, std::size(fuzzed_roles)> sockets;
        auto &found = sockets[type_ % std::size(fuzzed_roles)];
        if (!found)
            found = std::make_unique<fuzzed_socket>(context, fuzzed_roles[type_ % std::size(fuzzed_roles)]);
        return *found;
    }
    // The other side may hang up in the middle.
    template <class Stranger>
    void say_to(Stranger &stranger) const {
        say_to(stranger, octets_);
    }
    template <class Stranger>
    void say_to(Stranger &stranger, std::string_view octets) const {
        const std::size_t piece = piece_ ? piece_ : octets.size();
        for (std::size_t at = 0; at < octets.size(); at += piece)
            if (!stranger.send(octets.substr(at, piece)))
                return;
    }
    unsigned piece() const { return piece_; }
    std::string_view octets() const { return octets_; }

private:
    std::uint8_t type_;
    std::uint8_t piece_;
    std::string_view octets_;
};

// The stranger connects to a bound socket.
inline void fuzz_bound_socket(const std::uint8_t *data, std::size_t size, bool after_handshake) {
    if (size < 2)
        return;
    const fuzzed_speech speech(data, size);
    fuzzed_socket &listener = speech.socket();
    raw_peer stranger(listener.endpoint());
    ZLINK_INVARIANT(stranger.is_open());
    if (after_handshake)
        ZLINK_INVARIANT(stranger.shake_hands(listener.stranger()));
    speech.say_to(stranger);
    listener.part_from(stranger);
    listener.serve_honest_peer();
}

// The socket connects to the stranger.
inline void fuzz_connecting_socket(const std::uint8_t *data, std::size_t size, bool after_handshake) {
    if (size < 2)
        return;
    const fuzzed_speech speech(data, size);
    fuzzed_socket &caller = speech.socket();
    raw_listener called("ipc");
    ZLINK_INVARIANT(zmq_connect(caller.handle(), called.endpoint().c_str()) == 0);
    raw_peer stranger = called.accept();
    ZLINK_INVARIANT(stranger.is_open());
    if (after_handshake)
        ZLINK_INVARIANT(stranger.shake_hands(caller.stranger()));
    speech.say_to(stranger);
    caller.part_from(stranger);
    caller.serve_honest_peer();
    // After an ERROR the socket has given the endpoint up by itself.
    ZLINK_INVARIANT(zmq_disconnect(caller.handle(), called.endpoint().c_str()) == 0 || zmq_errno() == ENOENT);
}

}  // namespace zlink::test
