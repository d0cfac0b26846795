// The schemes ws and wss: the streams of tcp and tls, on which a conversation begins as with a web
// server.
//
// Addresses: those of tcp, and a path behind them. Without one it is "/".
// Streams:  as they are. Only place_of() says that something else is spoken on them: see
//           zmtp/conversation.hpp.
// Order:    addresses and their paths; the listener; the transport: its checks, its dialer; one
//           object for each scheme.
#include <algorithm>

#include "core/reason.hpp"
#include "transport/endpoint.hpp"
#include "transport/transport.hpp"

namespace zlink {

namespace {

struct web_address {
    std::string below;  // of tcp, or tls
    std::string path;
};

/// Whether an octet may stand in a request as it is. A fragment is not sent (RFC 3986 §3.5), a
/// comma would make two of an origin.
bool is_word(std::string_view text, std::string_view without) noexcept {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return c > ' ' && c < '\x7f' && without.find(c) == std::string_view::npos;
    });
}
error refuse_because(const char *words) {
    reason::leave(words);
    return error::invalid;
}
/// Both leave the reason of a failure, and throw std::bad_alloc.
error check_path(std::string_view text) {
    if (text.size() > web_place::most_octets)
        return refuse_because("the path is longer than 7 KiB");
    return is_word(text, "#")
               ? error::none
               : refuse_because("the path may have neither blanks nor #, and no octet beyond ASCII");
}
error check_origin(std::string_view text) {
    return is_word(text, ",")
               ? error::none
               : refuse_because("ZMQ_WS_ORIGIN of a client is one origin, without blanks and commas");
}

web_address split_path(std::string_view address) {
    const std::size_t slash = std::min(address.find('/'), address.size());
    const std::string_view path = address.substr(slash);
    return {std::string(address.substr(0, slash)), std::string(path.empty() ? "/" : path)};
}

/// The path of "scheme://address/path".
std::string_view address_of(std::string_view endpoint) noexcept {
    return endpoint.substr(std::min(endpoint.find("://"), endpoint.size() - 3) + 3);
}

class web_listener final : public listener {
public:
    web_listener(std::string endpoint, std::unique_ptr<listener> accepting)
        : endpoint_(std::move(endpoint)), accepting_(std::move(accepting)) {}

    void start(accept_handler handler) noexcept override { accepting_->start(std::move(handler)); }
    void go_on() noexcept override { accepting_->go_on(); }
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return accepting_->descriptor(); }

private:
    const std::string endpoint_;
    const std::unique_ptr<listener> accepting_;
};

class web_transport final : public transport {
public:
    constexpr web_transport(const char *scheme, const transport &(*below)() noexcept,
                            std::uint16_t usual_port) noexcept
        : scheme_(scheme), below_(below), usual_port_(usual_port) {}
    constexpr ~web_transport() override {}
    const char *scheme() const noexcept override { return scheme_; }

    error check_connect(const std::string &address, const settings &options) const noexcept override {
        try {
            const web_address to = split_path(address);
            if (const error e = check_path(to.path); failed(e))
                return e;
            if (const error e = check_origin(options.web_origin); failed(e))
                return e;
            if (address.size() + options.web_origin.size() > web_place::most_octets)
                return refuse_because("address and ZMQ_WS_ORIGIN are longer than 7 KiB together");
            return below_().check_connect(to.below, options);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    std::string endpoint_for(const std::string &address) const override {
        return endpoint_of(split_path(address));
    }

    std::optional<web_place> place_of(const std::string &address) const override {
        const web_address at = split_path(address);
        tcp_remote_address to;
        if (failed(parse_tcp_connect(at.below, to)))
            return web_place{{}, at.path};  // to listen at
        return web_place{host_of(std::move(to)), at.path};
    }

    bool may_be_bound_to(const std::string &address, const std::string &endpoint) const noexcept override {
        try {
            if (!endpoint.starts_with(std::string(scheme_) + "://"))
                return false;
            const web_address wanted = split_path(address), bound = split_path(address_of(endpoint));
            return wanted.path == bound.path &&
                   below_().may_be_bound_to(wanted.below, below_().endpoint_for(bound.below));
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    error make_dialer(const std::string &address, const settings &options, const batching &sizes, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override {
        try {
            return below_().make_dialer(split_path(address).below, options, sizes, io, out);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_listener(const std::string &address, const settings &options, const tuning &knobs, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override {
        try {
            web_address at = split_path(address);
            if (const error e = check_path(at.path); failed(e))
                return e;
            std::unique_ptr<listener> accepting;
            if (const error e = below_().make_listener(at.below, options, knobs, io, accepting); failed(e))
                return e;
            at.below = address_of(accepting->endpoint());
            out = std::make_unique<web_listener>(endpoint_of(at), std::move(accepting));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

private:
    std::string endpoint_of(const web_address &at) const {
        return std::string(scheme_) + "://" + at.below + at.path;
    }

    /// The host as the request names it (RFC 6455 §4.1): the interface of an IPv6 address means
    /// nothing there.
    std::string host_of(tcp_remote_address to) const {
        to.host.erase(std::min(to.host.find('%'), to.host.size()));
        std::string host = host_before_port(to.host);
        if (to.port != usual_port_)
            host += ":" + std::to_string(to.port);
        return host;
    }

    const char *const scheme_;
    const transport &(*const below_)() noexcept;
    const std::uint16_t usual_port_;
};

}  // namespace

const transport &ws() noexcept {
    static constexpr web_transport instance("ws", tcp,
                                            80);  // never destroyed: I/O threads may outlive main()
    return instance;
}

#ifdef ZLINK_WITH_TLS
const transport &wss() noexcept {
    static constexpr web_transport instance("wss", tls, 443);
    return instance;
}

const transport &ws_inside_tls() noexcept {
    static constexpr web_transport instance("ws", tcp_inside_tls, 80);
    return instance;
}
#endif

}  // namespace zlink
