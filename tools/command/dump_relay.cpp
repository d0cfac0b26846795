// The relay of `zlink dump`. Of each direction a piece is read when the one before it has gone, so
// that a slow end slows the other, and nothing piles up here.

#include "arguments.hpp"
#include "dump_output.hpp"
#include "interrupts.hpp"
#include "socket_address.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>

namespace command {

namespace {

constexpr size_t most_connections = 250;
constexpr size_t piece_size = 65536;

socket_address socket_address_of(const std::string &endpoint, bool is_bound) {
    if (endpoint.rfind("ipc://", 0) == 0) {
        return ipc_address(endpoint.substr(6));
    }
    const size_t colon = endpoint.rfind(':');
    if (endpoint.rfind("tcp://", 0) != 0 || colon < 7) {
        throw failure(status::usage, "a relay is between tcp://host:port and ipc://path, not " + endpoint);
    }
    std::string host = endpoint.substr(6, colon - 6), port = endpoint.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    }
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = is_bound ? AI_PASSIVE : 0;
    addrinfo *found = nullptr;
    port = is_bound && port == "*" ? "0" : port;
    const int error = getaddrinfo(host == "*" ? nullptr : host.c_str(), port.c_str(), &wanted, &found);
    if (error != 0) {
        throw failure(status::unreachable,
                      fmt::format("cannot resolve {}: {}", endpoint, gai_strerror(error)));
    }
    socket_address made;
    std::memcpy(&made.octets, found->ai_addr, found->ai_addrlen);
    made.size = found->ai_addrlen;
    freeaddrinfo(found);
    return made;
}

int open_socket(const socket_address &address) {
    return ::socket(address.octets.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/// From one descriptor to the other.
struct relay_way {
    int from, to;
    std::string waiting;
    bool has_ended = false;

    short wanted(bool is_source) const {
        return static_cast<short>(is_source ? (waiting.empty() && !has_ended ? POLLIN : 0)
                                            : (waiting.empty() ? 0 : POLLOUT));
    }

    void pass_on() {
        const ssize_t count = ::send(to, waiting.data(), waiting.size(), MSG_NOSIGNAL);
        if (count > 0) {
            waiting.erase(0, static_cast<size_t>(count));
        } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
            waiting.clear();
            has_ended = true;
        }
        if (waiting.empty() && has_ended) {
            shutdown(to, SHUT_WR);
        }
    }
};

class relayed {
public:
    relayed(const dump_flags &flags, output &to, int number, int client, int target)
        : shown_(flags, to, number), there_{client, target, {}}, back_{target, client, {}} {}
    ~relayed() {
        close(there_.from);
        close(there_.to);
    }
    relayed(const relayed &) = delete;
    relayed &operator=(const relayed &) = delete;

    dumped_connection &shown() { return shown_; }
    bool has_ended() const {
        return has_failed_ ||
               (there_.has_ended && back_.has_ended && there_.waiting.empty() && back_.waiting.empty());
    }

    void add_to(std::vector<pollfd> &items) const {
        items.push_back({there_.from, static_cast<short>(there_.wanted(true) | back_.wanted(false)), 0});
        items.push_back({there_.to, static_cast<short>(back_.wanted(true) | there_.wanted(false)), 0});
    }

    void handle(const pollfd &client, const pollfd &target, double seconds) {
        shown_.at(seconds);
        for (const bool is_back : {false, true}) {
            relay_way &way = is_back ? back_ : there_;
            const pollfd &source = is_back ? target : client, &sink = is_back ? client : target;
            if (source.revents != 0 && way.waiting.empty() && !way.has_ended) {
                read(way, is_back);
            }
            if ((sink.revents & ~POLLIN) != 0 && !way.waiting.empty()) {
                way.pass_on();
            }
        }
        const auto is_over = [](const pollfd &end, const relay_way &way) {
            return (end.revents & (POLLERR | POLLNVAL)) != 0 ||
                   ((end.revents & POLLHUP) != 0 && way.has_ended && way.waiting.empty());
        };
        has_failed_ |= is_over(client, there_) || is_over(target, back_);
        if (has_ended()) {
            shown_.decoder(false).end();
            shown_.decoder(true).end();
            shown_.say("closed");
        }
    }

private:
    void read(relay_way &way, bool is_back) {
        std::array<char, piece_size> piece;
        const ssize_t count = recv(way.from, piece.data(), piece.size(), 0);
        if (count > 0) {
            const std::string_view octets(piece.data(), static_cast<size_t>(count));
            shown_.decoder(is_back).feed(octets);
            way.waiting = octets;
            way.pass_on();
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            if (count < 0) {
                shown_.say(
                    fmt::format("{}: {}", is_back ? "of the target" : "of the client", std::strerror(errno)));
                has_failed_ = true;
            }
            way.has_ended = true;
            shutdown(way.to, SHUT_WR);
        }
    }

    dumped_connection shown_;
    relay_way there_, back_;
    bool has_failed_ = false;
};

class relay {
public:
    explicit relay(const dump_flags &flags)
        : flags_(flags), target_(socket_address_of(flags.places[1], false)) {
        const socket_address own = socket_address_of(flags.places[0], true);
        listener_ = open_socket(own);
        const int yes = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (listener_ < 0 || bind(listener_, &own.any, own.size) != 0 || listen(listener_, 100) != 0) {
            const std::string why = std::strerror(errno);
            throw failure(status::unreachable, fmt::format("cannot listen at {}: {}", flags.places[0], why));
        }
        if (own.octets.ss_family == AF_UNIX) {
            path_ = flags.places[0].substr(6);
        }
        complain("bound to " + bound(flags.places[0]));
    }
    ~relay() {
        close(listener_);
        if (!path_.empty() && path_[0] != '@') {
            unlink(path_.c_str());
        }
    }
    relay(const relay &) = delete;
    relay &operator=(const relay &) = delete;

    status run() {
        for (;;) {
            std::vector<pollfd> items{{signals_.descriptor(), POLLIN, 0},
                                      {connections_.size() < most_connections ? listener_ : -1, POLLIN, 0}};
            for (const relayed &each : connections_) {
                each.add_to(items);
            }
            poll(items.data(), items.size(), -1);
            if (items[0].revents != 0 && signals_.take()) {
                to_.flush();
                return status::interrupted;
            }
            size_t at = 2;
            for (auto each = connections_.begin(); each != connections_.end(); at += 2) {
                each->handle(items[at], items[at + 1], seconds());
                ended_ += each->has_ended() ? 1 : 0;
                each = each->has_ended() ? connections_.erase(each) : std::next(each);
            }
            if (items[1].revents != 0) {
                take_one();
            }
            to_.flush();
            if (flags_.count > 0 && ended_ >= flags_.count) {
                return status::done;
            }
        }
    }

private:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

    std::string bound(const std::string &asked) const {
        sockaddr_storage address{};
        socklen_t size = sizeof address;
        std::array<char, 64> port{};
        if (path_.empty() && getsockname(listener_, reinterpret_cast<sockaddr *>(&address), &size) == 0 &&
            getnameinfo(reinterpret_cast<sockaddr *>(&address), size, nullptr, 0, port.data(), port.size(),
                        NI_NUMERICSERV) == 0) {
            return asked.substr(0, asked.rfind(':') + 1) + port.data();
        }
        return asked;
    }

    void take_one() {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) {
            return;
        }
        const int other = open_socket(target_);
        if (other < 0 || (::connect(other, &target_.any, target_.size) != 0 && errno != EINPROGRESS)) {
            complain(fmt::format("cannot connect to {}: {}", flags_.places[1], std::strerror(errno)));
            close(client);
            if (other >= 0) {
                close(other);
            }
            return;
        }
        relayed &made = connections_.emplace_back(flags_, to_, ++number_, client, other);
        made.shown().at(seconds());
        made.shown().say("connected");
    }

    const dump_flags &flags_;
    interrupts signals_;
    output to_;
    socket_address target_;
    int listener_ = -1;
    std::string path_;
    std::list<relayed> connections_;
    int number_ = 0;
    std::uint64_t ended_ = 0;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

status dump_relay(const dump_flags &flags) { return relay(flags).run(); }

}  // namespace command
