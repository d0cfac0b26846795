// The scheme tcp: addresses, dialing and listening.
//
// Dialing:  one attempt resolves anew, then tries the addresses in turn until one connects or
//           connect_timeout_ms is over. With a SOCKS proxy these are the proxy's addresses; it
//           resolves the name of the far side, so that nobody here asks for it.
// Order:    addresses of interfaces; the dialer; the transport: its listener, its dialer.
#include "transport/transport.hpp"

#include <cstring>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <optional>

#include "core/reason.hpp"
#include "reactor/deferred_call.hpp"
#include "reactor/resolver.hpp"
#include "transport/endpoint.hpp"
#include "transport/socket_calls.hpp"
#include "transport/socket_listener.hpp"
#include "transport/socks5.hpp"
#include "transport/tcp_stream.hpp"

namespace zlink {

namespace {

sockaddr *as_sockaddr(resolved_address &a) noexcept { return reinterpret_cast<sockaddr *>(&a.address); }

// The IPv4 address as one that an IPv6 socket takes (RFC 4291 §2.5.5.2).
resolved_address mapped_to_v6(const sockaddr_in &from) noexcept {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = from.sin_port;
    to.sin6_addr.s6_addr[10] = to.sin6_addr.s6_addr[11] = 0xff;
    std::memcpy(to.sin6_addr.s6_addr + 12, &from.sin_addr, 4);
    resolved_address out;
    std::memcpy(&out.address, &to, sizeof to);
    out.length = sizeof to;
    return out;
}

bool find_interface(const std::string &name, int family, resolved_address &out) noexcept {
    ifaddrs *all = nullptr;
    if (::getifaddrs(&all) != 0)
        return false;
    bool is_found = false;
    for (ifaddrs *i = all; i && !is_found; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || name != i->ifa_name)
            continue;
        out.length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        std::memcpy(&out.address, i->ifa_addr, out.length);
        is_found = true;
    }
    ::freeifaddrs(all);
    return is_found;
}

// The address to bind: an interface, a numeric address or any. Names are not resolved. no_device
// when there is no such interface.
error find_local(const tcp_local_address &wanted, bool is_v6, resolved_address &out) noexcept {
    const std::string host = wanted.host == "*" ? (is_v6 ? "::" : "0.0.0.0") : wanted.host;
    const bool is_found =
        !host.empty() && ((is_v6 && find_interface(host, AF_INET6, out)) ||
                          find_interface(host, AF_INET, out) || parse_numeric_address(host, "0", is_v6, out));
    if (!is_found)
        return error::no_device;
    if (is_v6 && out.address.ss_family == AF_INET)
        out = mapped_to_v6(reinterpret_cast<const sockaddr_in &>(out.address));
    // The port stands at the same place in both families.
    reinterpret_cast<sockaddr_in &>(out.address).sin_port = htons(wanted.port);
    return error::none;
}

error make_tcp_stream(loop &io, owned_descriptor socket, const sockaddr *peer, socklen_t length,
                      const settings &options, std::unique_ptr<stream> &out) {
    set_up_tcp_connection(socket.get(), options);
    const local_tcp local = local_tcp::set_up(socket.get(), options);
    return tcp_stream::make(io, std::move(socket), print_host(peer, length), local, out);
}

/// Why a connect in progress ended: none when there is a peer. A port that nobody listens on can be
/// chosen for this very socket, which connects to itself then. It is to leave the port at once to
/// who is to listen there.
error look_at_peer(int descriptor, resolved_address &peer) noexcept {
    if (error e = connect_result(descriptor); failed(e))
        return e;
    resolved_address here;
    here.length = peer.length = sizeof here.address;
    if (::getsockname(descriptor, as_sockaddr(here), &here.length) != 0 ||
        ::getpeername(descriptor, as_sockaddr(peer), &peer.length) != 0)
        return from_errno(errno);
    if (here.length != peer.length || std::memcmp(&here.address, &peer.address, here.length) != 0)
        return error::none;
    reset_when_closed(descriptor);
    return error::connection_refused;
}

/// The address to connect to: `out`, or the proxy in front of it.
error parse_route(const std::string &address, const settings &options, tcp_remote_address &out,
                  tcp_remote_address &proxy) {
    std::string why;
    error e = parse_tcp_connect(address, out, &why);
    if (!failed(e) && !options.socks_proxy.empty()) {
        e = parse_tcp_connect(options.socks_proxy, proxy, &why);
        const bool has_nul = options.socks_proxy.find('\0') != std::string::npos;
        if (!failed(e) && (proxy.host.empty() || proxy.port == 0 || has_nul)) {
            e = error::invalid;
            why = options.socks_proxy + " is no host and port";
        }
        if (failed(e))
            why.insert(0, "ZMQ_SOCKS_PROXY: ");
    }
    if (failed(e))
        reason::leave(std::move(why));
    return e;
}

/// Why no address of the system's stands behind a host that is there. Empty where its words do not
/// show it.
std::string words_of_host(const std::string &host, bool allow_ipv6) {
    if (host.find_first_of("[]") != std::string::npos)
        return "the brackets do not match: " + host;
    if (resolved_address unused; !allow_ipv6 && parse_numeric_address(host, "0", true, unused))
        return host + " is an address of IPv6, and ZMQ_IPV6 is not set";
    return {};
}

/// Why there is no interface and no address of this name to bind to.
std::string words_of_no_local(const std::string &host) {
    if (host.empty())
        return "there is no host in front of the port; * stands for all interfaces";
    std::string words = words_of_host(host, false);
    return words.empty()
               ? "no interface and no numeric address: " + host + "; names are not looked up to bind to them"
               : words;
}

/// Why an address to connect to has none of the system's behind it. Empty where only who was asked
/// knows.
std::string words_of_no_remote(const std::string &host, bool allow_ipv6) {
    return host.empty() ? "there is no host in front of the port" : words_of_host(host, allow_ipv6);
}

class tcp_dialer final : public dialer, private readiness_events {
public:
    /// `proxy` counts where the options name one.
    tcp_dialer(tcp_remote_address to, tcp_remote_address proxy, const settings &options, loop &io,
               std::unique_ptr<resolver> names)
        : to_(std::move(to)), proxy_(std::move(proxy)), options_(options), loop_(io),
          resolver_(std::move(names)), report_(io, [this] { report(); }) {
        if (!options.socks_proxy.empty())
            talk_.emplace(to_.host, to_.port, options.socks_username, options.socks_password);
    }

    void dial(dial_handler handler) noexcept override {
        handler_ = std::move(handler);
        failure_ = error::host_unreachable;
        words_.clear();
        if (options_.connect_timeout_ms > 0)
            give_up_after(options_.connect_timeout_ms);
        const tcp_remote_address &first = talk_ ? proxy_ : to_;
        resolver_->resolve(first.host, std::to_string(first.port), options_.ipv6,
                           [this](std::vector<resolved_address> found, error failure) {
                               addresses_ = std::move(found);
                               next_ = 0;
                               if (failed(failure))
                                   words_ = reason::take();
                               failed(failure) ? give_up(failure) : try_next();
                           });
    }

    void report_pending(std::function<void()> pending) noexcept override { pending_ = std::move(pending); }
    int descriptor() const noexcept override { return descriptor_; }

private:
    /// The one of the proxy is for the connection to it. Null where there is none.
    const tcp_local_address *source() const noexcept {
        const tcp_remote_address &whose = talk_ && proxy_.has_source ? proxy_ : to_;
        return whose.has_source ? &whose.source : nullptr;
    }

    // Connects to the next address that does not fail at once.
    void try_next() noexcept {
        for (; next_ < addresses_.size(); ++next_) {
            failure_ = start(addresses_[next_]);
            if (!failed(failure_))
                return;
        }
        give_up(failure_);
    }

    error start(resolved_address &to) noexcept {
        if (!is_admitted(as_sockaddr(to), options_.allowed_peers)) {
            words_ = "the policy does not allow connections to " + print_host(as_sockaddr(to), to.length);
            return error::not_permitted;
        }
        const int family = to.address.ss_family;
        owned_descriptor socket;
        if (error e = open_socket(family, loop_.sheddables, socket); failed(e))
            return e;
        if (error e = set_up_tcp_socket(socket.get(), family, options_); failed(e))
            return e;
        if (const tcp_local_address *from = source()) {
            resolved_address source;
            if (error e = find_local(*from, family == AF_INET6, source); failed(e))
                return e;
            allow_address_reuse(socket.get());
            if (::bind(socket.get(), as_sockaddr(source), source.length) != 0)
                return from_errno(errno);
        }
        if (::connect(socket.get(), as_sockaddr(to), to.length) != 0 && errno != EINPROGRESS)
            return from_errno(errno);
        if (error e = readiness::make(loop_, socket.get(), *this, ready_); failed(e))
            return e;
        socket.release();
        descriptor_ = ready_.descriptor();
        ready_.wait_writable();
        if (pending_)
            pending_();
        return error::none;
    }

    void on_readable() noexcept override { converse(); }
    void on_writable() noexcept override {
        if (!talk_)
            settle();
        else if (is_talking_)
            converse();
        else
            begin_to_talk();
    }

    void settle() noexcept {
        owned_descriptor socket(ready_.release());
        failure_ = finish(std::move(socket));
        failed(failure_) ? try_another() : report();
    }

    void try_another() noexcept {
        ready_.close();
        ++next_;
        try_next();
    }

    // ---- with a proxy ----

    void begin_to_talk() noexcept {
        resolved_address proxy;
        failure_ = look_at_peer(ready_.descriptor(), proxy);
        if (failed(failure_)) {
            try_another();
            return;
        }
        is_talking_ = true;
        if (options_.connect_timeout_ms <= 0 && options_.handshake_interval_ms > 0)
            give_up_after(options_.handshake_interval_ms);
        converse();
    }

    void converse() noexcept {
        for (;;) {
            const bool writes = !talk_->output().empty();
            const io_result moved = writes ? write_to_proxy() : read_from_proxy();
            if (moved.status == error::again) {
                writes ? ready_.wait_writable() : ready_.wait_readable();
                return;
            }
            if (failed(moved.status)) {
                give_up(moved.status);
                return;
            }
            if (writes)
                continue;
            switch (talk_->receive({from_proxy_, moved.octets})) {
            case socks5_conversation::progress::unfinished:
                break;
            case socks5_conversation::progress::opened:
                settle();
                return;
            case socks5_conversation::progress::failed:
                give_up(talk_->failure());
                return;
            }
        }
    }

    io_result write_to_proxy() noexcept {
        const byte_span out = talk_->output();
        const iovec range{const_cast<std::uint8_t *>(out.data()), out.size()};
        const io_result written = socket_calls::write(ready_.descriptor(), {&range, 1});
        talk_->note_written(written.octets);
        return written;
    }

    io_result read_from_proxy() noexcept {
        const iovec range{from_proxy_, talk_->wanted()};
        return socket_calls::read(ready_.descriptor(), {&range, 1});
    }

    // ---- the end of an attempt ----

    void give_up_after(int ms) noexcept {
        if (!timeout_)
            timeout_ = loop_.make_timer([this] { give_up(error::timed_out); });
        if (timeout_)
            timeout_->expires_at(loop_.now() + std::chrono::milliseconds(ms));
    }

    error finish(owned_descriptor socket) noexcept {
        resolved_address there;
        if (error e = look_at_peer(socket.get(), there); failed(e))
            return e;
        try {
            return make_tcp_stream(loop_, std::move(socket), as_sockaddr(there), there.length, options_,
                                   connected_);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    void give_up(error why) noexcept {
        ready_.close();
        failure_ = why;
        // Never from inside dial(), whoever found out.
        report_.schedule();
    }

    void leave_reason() noexcept {
        reason::try_leave([this] {
            if (addresses_.empty()) {
                std::string words = words_of_no_remote(talk_ ? proxy_.host : to_.host, options_.ipv6);
                if (!words.empty())
                    return words;
            }
            return words_.empty() ? words_of_failure() : std::move(words_);
        });
    }

    std::string words_of_failure() const {
        const tcp_remote_address &to = talk_ && !is_talking_ ? proxy_ : to_;
        const std::string where = host_before_port(to.host) + ":" + std::to_string(to.port);
        const std::string who = !talk_ ? where : is_talking_ ? "the proxy" : "the proxy " + where;
        switch (failure_) {
        case error::connection_refused:
            return is_talking_ ? "the proxy reports that " + where + " refuses connections"
                               : who + " refuses connections: does anybody listen there?";
        case error::timed_out:
            return who + " does not answer";
        case error::no_device:
            if (const tcp_local_address *from = source())
                return "there is no address or interface " + from->host + " here to connect from";
            [[fallthrough]];
        default:
            return "cannot connect " + words_of_source() + "to " + where +
                   (talk_ ? " by way of the proxy: " : ": ") + describe(to_errno(failure_));
        }
    }

    std::string words_of_source() const {
        const tcp_local_address *const from = source();
        if (!from)
            return {};
        const std::string host = host_before_port(from->host);
        return "from " + host + (from->port == 0 ? "" : ":" + std::to_string(from->port)) + " ";
    }

    // The owner may destroy this object in the call.
    void report() noexcept {
        if (timeout_)
            timeout_->cancel();
        report_.cancel();
        if (failed(failure_))
            leave_reason();
        if (dial_handler call = std::exchange(handler_, nullptr))
            call(std::move(connected_), failure_);
    }

    // Constant after construction
    const tcp_remote_address to_;
    const tcp_remote_address proxy_;
    const settings options_;
    loop &loop_;

    const std::unique_ptr<resolver> resolver_;
    deferred_call report_;
    std::unique_ptr<timer> timeout_;
    dial_handler handler_;
    std::function<void()> pending_;
    int descriptor_ = -1;
    std::vector<resolved_address> addresses_;
    std::size_t next_ = 0;
    readiness ready_;
    std::optional<socks5_conversation> talk_;  // with a proxy only
    bool is_talking_ = false;
    std::uint8_t from_proxy_[socks5_conversation::most_octets_wanted];
    std::unique_ptr<stream> connected_;
    error failure_ = error::none;
    std::string words_;  // of a failure, where there are some already
};

/// Why the system refuses to listen there.
std::string words_of_no_listening(const tcp_local_address &where, error failure) {
    const std::string place =
        host_before_port(where.host) + ":" + (where.port == 0 ? "*" : std::to_string(where.port));
    constexpr int first_free_port = 1024;  // as systems are set up
    switch (to_errno(failure)) {
    case EADDRINUSE:
        return where.port == 0 ? "no port of " + where.host + " is free"
                               : place + " is in use by another socket";
    case EADDRNOTAVAIL:
        return where.host + " is no address of this machine";
    case EACCES:
        return "this user may not listen at " + place +
               (where.port != 0 && where.port < first_free_port ? ": ports below 1024 are kept for the system"
                                                                : "");
    default:
        return "cannot listen at " + place + ": " + describe(to_errno(failure));
    }
}

/// Leaves the reason of a failure.
error listen_at(const tcp_local_address &where, bool is_v6, const settings &options, owned_descriptor &out) {
    resolved_address local;
    if (error e = find_local(where, is_v6, local); failed(e)) {
        reason::leave(words_of_no_local(where.host));
        return e;
    }
    owned_descriptor socket;
    error e = open_socket(local.address.ss_family, socket);
    if (!failed(e))
        e = set_up_tcp_socket(socket.get(), local.address.ss_family, options);
    if (failed(e)) {
        const std::string device =
            socket && !options.bind_to_device.empty() ? " on the device " + options.bind_to_device : "";
        reason::leave("cannot listen" + device + ": " + describe(to_errno(e)));
        return e;
    }
    allow_address_reuse(socket.get());
    if (::bind(socket.get(), as_sockaddr(local), local.length) != 0 ||
        ::listen(socket.get(), options.backlog) != 0) {
        e = from_errno(errno);
        reason::leave(words_of_no_listening(where, e), socket.get());
        return e;
    }
    out = std::move(socket);
    return error::none;
}

class tcp_transport final : public transport {
public:
    constexpr ~tcp_transport() override {}
    const char *scheme() const noexcept override { return "tcp"; }

    error check_connect(const std::string &address, const settings &options) const noexcept override {
        try {
            tcp_remote_address to, proxy;
            return parse_route(address, options, to, proxy);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_dialer(const std::string &address, const settings &options, const batching &, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override {
        try {
            tcp_remote_address to, proxy;
            if (error e = parse_route(address, options, to, proxy); failed(e))
                return e;
            auto names = make_resolver(io);
            if (!names)
                return error::no_memory;
            out =
                std::make_unique<tcp_dialer>(std::move(to), std::move(proxy), options, io, std::move(names));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    /// The system prints an IPv4 address in another way where the socket is for IPv6, too.
    bool may_be_bound_to(const std::string &address, const std::string &endpoint) const noexcept override {
        try {
            tcp_local_address where;
            if (failed(parse_tcp_bind(address, where)))
                return false;
            for (const bool is_v6 : {false, true})
                if (resolved_address found; !failed(find_local(where, is_v6, found)) &&
                                            print_endpoint(as_sockaddr(found), found.length) == endpoint)
                    return true;
        } catch (const std::bad_alloc &) {
        }
        return false;
    }

    error make_listener(const std::string &address, const settings &options, const tuning &, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override {
        try {
            tcp_local_address where;
            if (const error e = read_tcp_bind(address, where); failed(e))
                return e;
            owned_descriptor socket;
            error e = options.use_fd >= 0 ? adopt_bound_socket(options.use_fd, socket)
                                          : listen_at(where, options.ipv6, options, socket);
            if (to_errno(e) == EAFNOSUPPORT && options.ipv6) {  // a system without IPv6
                (void)reason::take();
                e = listen_at(where, false, options, socket);
            }
            if (failed(e))
                return e;
            std::string endpoint = local_endpoint_of(socket.get());
            if (endpoint.empty()) {
                reason::leave("ZMQ_USE_FD: " + std::to_string(options.use_fd) + " is no socket");
                return error::not_socket;
            }
            auto admit = [options](loop &at, owned_descriptor accepted, const sockaddr *peer,
                                   socklen_t length, std::unique_ptr<stream> &made) {
                if (!is_admitted(peer, options.tcp_accept_filters)) {
                    reason::try_leave(
                        [&] { return "ZMQ_TCP_ACCEPT_FILTER keeps out " + print_host(peer, length); });
                    return error::connection_refused;
                }
                if (!is_admitted(peer, options.allowed_peers)) {
                    reason::try_leave([&] {
                        return "the policy does not allow connections from " + print_host(peer, length);
                    });
                    return error::connection_refused;
                }
                return make_tcp_stream(at, std::move(accepted), peer, length, options, made);
            };
            out = std::make_unique<socket_listener>(io, std::move(socket), std::move(endpoint),
                                                    std::move(admit));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }
};

}  // namespace

const transport &tcp() noexcept {
    static constexpr tcp_transport instance;  // never destroyed: I/O threads may outlive main()
    return instance;
}

}  // namespace zlink
