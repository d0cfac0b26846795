#include "tls_connection.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>

namespace command {

namespace {

/// Finds the host in "tls://source:0;host:port".
std::string host_of(const std::string &endpoint) {
    std::string host = endpoint.substr(endpoint.find("//") + 2);
    host = host.substr(host.find(';') + 1);
    host = host.substr(0, host.rfind(':'));
    return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

std::string version_of(socket &connected) {
    std::string version;
    zlink_peers(
        connected.handle(),
        [](void *into, const zlink_peer_t *peer, size_t) {
            static_cast<std::string *>(into)->assign(peer->tls_version);
            return 0;
        },
        &version);
    return version.empty() ? "TLS" : version;
}

}  // namespace

tls_connection::tls_connection(const connection_flags &flags)
    : flags_(flags), socket_(context_, ZMQ_STREAM), watch_(context_, socket_) {
    prepare(socket_, flags);
    socket_.set(ZMQ_LINGER, 0);
    socket_.set(ZMQ_STREAM_NOTIFY, 1);
}

bool tls_connection::wants_mechanism() const { return socket_.get(ZMQ_MECHANISM) != ZMQ_NULL; }

std::string tls_connection::connect(const std::string &endpoint, clock::time_point deadline) {
    endpoint_ = endpoint;
    connection_flags connection = flags_;
    connection.endpoints = {">" + endpoint};
    open_endpoints(socket_, watch_, connection, false);
    for (;;) {
        const auto event = next_event();
        if (!event) {
            wait({watch_.handle()}, deadline, "no connection");
        } else if (event->number == ZMQ_EVENT_CONNECTED) {
            return event->endpoint;
        } else if (const auto meaning = meaning_of(*event)) {
            throw failure(*meaning, event->reason.empty() ? words_of(*event) : event->reason);
        }
    }
}

std::string tls_connection::shake_hands(clock::time_point deadline) {
    while (!take_octets()) {
        if (const auto event = next_event()) {
            if (event->number == ZMQ_EVENT_DISCONNECTED || meaning_of(*event)) {
                throw failure(status::refused, event->reason.empty() ? words_of(*event) : event->reason);
            }
        } else {
            wait({watch_.handle(), socket_.handle()}, deadline,
                 "the peer does not do its part of the handshake");
        }
    }
    return fmt::format("{}, {}", version_of(socket_), name_of_certificate());
}

/// For an event, or for octets.
void tls_connection::wait(std::initializer_list<void *> sockets, clock::time_point deadline,
                          const char *what) {
    std::array<zmq_pollitem_t, 2> items{};
    std::transform(sockets.begin(), sockets.end(), items.begin(), [](void *each) {
        return zmq_pollitem_t{each, 0, ZMQ_POLLIN, 0};
    });
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
    if (left <= 0 || zmq_poll(items.data(), static_cast<int>(sockets.size()), static_cast<long>(left)) == 0) {
        throw failure(status::timed_out, fmt::format("{} in time", what));
    }
}

/// It was looked at in the alternative names of the certificate.
std::string tls_connection::name_of_certificate() const {
    if (socket_.get(ZMQ_TLS_VERIFY) == 0) {
        return "whose certificate it is was not asked";
    }
    std::array<char, 1024> name{};
    size_t size = name.size();
    const bool is_set =
        zmq_getsockopt(socket_.handle(), ZMQ_TLS_HOSTNAME, name.data(), &size) == 0 && name[0] != '\0';
    return fmt::format("the certificate is that of {}", is_set ? name.data() : host_of(endpoint_));
}

void tls_connection::write(const std::string &octets, clock::time_point deadline) {
    while (!socket_.try_send({id_, octets})) {
        zmq_pollitem_t item{socket_.handle(), 0, ZMQ_POLLOUT, 0};
        const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
        if (left <= 0 || zmq_poll(&item, 1, static_cast<long>(left)) == 0) {
            throw failure(status::timed_out, "the peer does not read in time");
        }
    }
}

std::string tls_connection::read_some(size_t most, clock::time_point deadline) {
    while (octets_.empty() && !has_closed_) {
        if (!take_octets()) {
            wait({socket_.handle()}, deadline, "the peer says nothing");
        }
    }
    if (octets_.empty()) {
        tell_why_it_has_gone(deadline);
    }
    const std::string some = octets_.substr(0, most);
    octets_.erase(0, some.size());
    return some;
}

/// False where there is nothing to take. Without octets a message tells that a connection begins,
/// or ends.
bool tls_connection::take_octets() {
    message got;
    if (!socket_.try_receive(got) || got.parts.size() != 2) {
        return false;
    }
    if (got.parts[1].empty()) {
        has_closed_ = !id_.empty();
        id_ = got.parts[0];
    }
    octets_ += got.parts[1];
    return true;
}

void tls_connection::tell_why_it_has_gone(clock::time_point deadline) {
    for (;;) {
        const auto event = next_event();
        if (!event) {
            wait({watch_.handle()}, deadline, "the peer has closed the connection, and nothing says why");
        } else if (event->number == ZMQ_EVENT_DISCONNECTED) {
            const bool is_of_tls = event->reason.find("certificate") != std::string::npos;
            throw failure(is_of_tls ? status::refused : status::peer_gone,
                          event->reason.empty() ? "the peer has closed the connection" : event->reason);
        }
    }
}

std::optional<watch_event> tls_connection::next_event() {
    auto event = watch_.next();
    if (event && flags_.is_verbose) {
        complain(words_of(*event));
    }
    return event;
}

}  // namespace command
