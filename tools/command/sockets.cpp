#include "sockets.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <utility>

namespace command {

namespace {

constexpr std::array<const char *, 12> type_names{"pair",   "pub",  "sub",  "req",  "rep",  "dealer",
                                                  "router", "pull", "push", "xpub", "xsub", "stream"};

[[noreturn]] void fail(const std::string &what) {
    throw failure(status::other, fmt::format("{}: {}", what, zmq_strerror(zmq_errno())));
}

/// Tells of an endpoint that cannot be used: the error says whether its text, this machine or a
/// policy is to blame.
[[noreturn]] void fail_at(const char *what, const std::string &endpoint) {
    const int error = zmq_errno();
    status code = status::unreachable;
    if (error == EINVAL || error == EPROTONOSUPPORT || error == ENOCOMPATPROTO) {
        code = status::usage;
    } else if (error == EACCES && zlink_policy_in_force() != 0) {
        code = status::refused;
    }
    throw failure(code, fmt::format("cannot {} {}: {}", what, endpoint, zmq_strerror(error)));
}

std::string property_of(zmq_msg_t &part, const char *name) {
    const char *value = zmq_msg_gets(&part, name);
    return value ? value : "";
}

bool is_of_security(unsigned fault) {
    return (fault & 0xff000000U) == 0x11000000U || (fault & 0xf0000000U) == 0x20000000U ||
           fault == ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE;
}

}  // namespace

context::context() : handle_(zmq_ctx_new()) {
    if (!handle_) {
        fail("no context");
    }
}

context::~context() { zmq_ctx_term(handle_); }

socket::socket(context &owner, int type) : handle_(zmq_socket(owner.handle(), type)) {
    if (!handle_) {
        fail("no socket");
    }
}

socket::~socket() {
    if (handle_) {
        zmq_close(handle_);
    }
}

void socket::set(int option, int value) {
    if (zmq_setsockopt(handle_, option, &value, sizeof value) != 0) {
        fail(fmt::format("option {}", option));
    }
}

void socket::set(int option, const std::string &value) {
    if (zmq_setsockopt(handle_, option, value.data(), value.size()) != 0) {
        fail(fmt::format("option {}", option));
    }
}

int socket::get(int option) const {
    int value = 0;
    size_t size = sizeof value;
    if (zmq_getsockopt(handle_, option, &value, &size) != 0) {
        fail(fmt::format("option {}", option));
    }
    return value;
}

std::string socket::last_endpoint() const {
    std::array<char, 1024> text{};
    size_t size = text.size();
    return zmq_getsockopt(handle_, ZMQ_LAST_ENDPOINT, text.data(), &size) == 0 ? text.data() : "";
}

void socket::bind(const std::string &endpoint) {
    if (zmq_bind(handle_, endpoint.c_str()) != 0) {
        fail_at("bind to", endpoint);
    }
}

void socket::connect(const std::string &endpoint) {
    if (zmq_connect(handle_, endpoint.c_str()) != 0) {
        fail_at("connect to", endpoint);
    }
}

bool socket::try_send(const std::vector<std::string> &parts) {
    for (size_t i = 0; i < parts.size(); ++i) {
        const int flags = ZMQ_DONTWAIT | (i + 1 < parts.size() ? ZMQ_SNDMORE : 0);
        if (zmq_send(handle_, parts[i].data(), parts[i].size(), flags) < 0) {
            // EFSM is of a REQ that has no reply yet, and of a REP that has no request.
            if ((zmq_errno() == EAGAIN || zmq_errno() == EFSM) && i == 0) {
                return false;
            }
            if (zmq_errno() == EHOSTUNREACH) {
                throw failure(status::unreachable, "there is no peer of this routing id");
            }
            fail("cannot send");
        }
    }
    return true;
}

bool socket::try_receive(message &into) {
    into = {};
    for (bool more = true; more;) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        if (zmq_msg_recv(&part, handle_, ZMQ_DONTWAIT) < 0) {
            zmq_msg_close(&part);
            if (zmq_errno() == EAGAIN || zmq_errno() == EFSM || zmq_errno() == ENOTSUP) {
                return false;
            }
            fail("cannot receive");
        }
        if (into.parts.empty()) {
            into.peer_address = property_of(part, "Peer-Address");
            into.peer_type = property_of(part, "Socket-Type");
            into.descriptor = zmq_msg_get(&part, ZMQ_SRCFD);
        }
        into.parts.emplace_back(static_cast<const char *>(zmq_msg_data(&part)), zmq_msg_size(&part));
        more = zmq_msg_more(&part) != 0;
        zmq_msg_close(&part);
    }
    return true;
}

std::optional<int> type_of_name(const std::string &name) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const auto found = std::find(type_names.begin(), type_names.end(), lower);
    return found == type_names.end() ? std::nullopt
                                     : std::optional<int>(static_cast<int>(found - type_names.begin()));
}

std::string name_of_type(int type) {
    std::string name = type_names.at(static_cast<size_t>(type));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    return name;
}

std::vector<std::string> names_of_types() { return {type_names.begin(), type_names.end()}; }

int partner_of(int type) {
    switch (type) {
    case ZMQ_PUB:
    case ZMQ_XPUB:
        return ZMQ_SUB;
    case ZMQ_SUB:
    case ZMQ_XSUB:
        return ZMQ_XPUB;
    case ZMQ_REQ:
        return ZMQ_ROUTER;
    case ZMQ_REP:
    case ZMQ_ROUTER:
    case ZMQ_DEALER:
        return ZMQ_DEALER;
    case ZMQ_PULL:
        return ZMQ_PUSH;
    case ZMQ_PUSH:
        return ZMQ_PULL;
    default:
        return type;
    }
}

watch::watch(context &owner, socket &watched) : events_(owner, ZMQ_PAIR) {
    const std::string place = fmt::format("inproc://watch-{}", fmt::ptr(this));
    if (zmq_socket_monitor(watched.handle(), place.c_str(), ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS) != 0) {
        fail("no monitor");
    }
    events_.set(ZMQ_LINGER, 0);
    events_.connect(place);
}

std::optional<watch_event> watch::next() {
    message got;
    while (events_.try_receive(got)) {
        std::uint16_t number = 0;
        std::uint32_t value = 0;
        if (got.parts.size() < 2 || got.parts[0].size() != sizeof number + sizeof value) {
            continue;
        }
        std::memcpy(&number, got.parts[0].data(), sizeof number);
        std::memcpy(&value, got.parts[0].data() + sizeof number, sizeof value);
        if (number == ZMQ_EVENT_REASON && got.parts.size() == 3) {
            reason_ = got.parts[2];
            reason_errno_ = static_cast<int>(value);
            continue;
        }
        return watch_event{number, value, got.parts[1], std::exchange(reason_, {}),
                           std::exchange(reason_errno_, 0)};
    }
    return std::nullopt;
}

std::string watch::left_reason() {
    std::string words;
    while (const auto event = next()) {
        words = event->reason.empty() ? words : event->reason;
    }
    return reason_.empty() ? words : std::exchange(reason_, {});
}

std::optional<status> meaning_of(const watch_event &event) {
    const bool is_tls = event.endpoint.rfind("tls:", 0) == 0 || event.endpoint.rfind("wss:", 0) == 0;
    switch (event.number) {
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
        return status::refused;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        return is_of_security(event.value) ? status::refused : status::protocol;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        if (event.reason.find("security mechanism") != std::string::npos) {
            return status::refused;
        }
        return is_tls ? status::refused : status::protocol;
    case ZMQ_EVENT_CLOSED:
    case ZMQ_EVENT_BIND_FAILED:
    case ZMQ_EVENT_ACCEPT_FAILED:
        if (event.reason.find("policy") != std::string::npos) {
            return status::refused;
        }
        return event.reason.empty() ? std::nullopt : std::optional(status::unreachable);
    default:
        return std::nullopt;
    }
}

bool is_final(const watch_event &event) {
    if (event.reason.find("no further attempt") != std::string::npos) {
        return true;
    }
    // A peer that goes in the midst of a handshake may be one that is being started again.
    const bool has_gone = event.reason.find("closed the connection") != std::string::npos;
    return event.number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ||
           event.number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL ||
           (event.number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL && !event.reason.empty() && !has_gone);
}

std::string words_of(const watch_event &event) {
    const char *what = "event";
    switch (event.number) {
    case ZMQ_EVENT_CONNECTED:
        what = "connected";
        break;
    case ZMQ_EVENT_CONNECT_DELAYED:
        what = "connecting";
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:
        what = "trying again";
        break;
    case ZMQ_EVENT_LISTENING:
        what = "listening";
        break;
    case ZMQ_EVENT_BIND_FAILED:
        what = "cannot bind";
        break;
    case ZMQ_EVENT_ACCEPTED:
        what = "accepted";
        break;
    case ZMQ_EVENT_ACCEPT_FAILED:
        what = "not accepted";
        break;
    case ZMQ_EVENT_CLOSED:
        what = "closed";
        break;
    case ZMQ_EVENT_DISCONNECTED:
        what = "the peer has gone";
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        what = "the peer is there";
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        what = "the handshake has failed";
        break;
    default:
        break;
    }
    return event.reason.empty() ? fmt::format("{}: {}", event.endpoint, what)
                                : fmt::format("{}: {}: {}", event.endpoint, what, event.reason);
}

}  // namespace command
