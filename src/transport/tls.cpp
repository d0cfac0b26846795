// The scheme tls: tcp, with each of its streams inside TLS. It may go by the name of tcp, for a
// program that does not know.
//
// Addresses, dialing and listening are tcp's, a proxy too. The handshake begins on the stream that
// has come about, and is bounded as that of ZMTP is.
// Files:    read when a listener is bound, and before a dialer's first attempt; again when they
//           have changed (tls_contexts).
// Order:    what the options say; the listener; the dialer; the transport.
#include "core/reason.hpp"
#include "reactor/deferred_call.hpp"
#include "transport/endpoint.hpp"
#include "transport/socket_listener.hpp"
#include "transport/tls_contexts.hpp"
#include "transport/tls_section.hpp"
#include "transport/tls_stream.hpp"
#include "transport/transport.hpp"

namespace zlink {

namespace {

using contexts_ptr = std::shared_ptr<tls_contexts>;

error make_client_contexts(const std::string &address, const settings &options, contexts_ptr &out) {
    tcp_remote_address to;
    if (const error e = parse_tcp_connect(address, to); failed(e))
        return e;
    return tls_contexts::make(tls_context::role::client, options, std::move(to.host), out);
}

/// The endpoint of tcp under another scheme.
std::string under(const char *scheme, const std::string &endpoint) {
    return scheme + endpoint.substr(endpoint.find(':'));
}

class tls_listener final : public listener {
public:
    /// Throws std::bad_alloc.
    tls_listener(const char *scheme, contexts_ptr contexts, std::unique_ptr<listener> accepting)
        : accepting_(std::move(accepting)), endpoint_(under(scheme, accepting_->endpoint())),
          parts_(std::make_shared<parts>()) {
        parts_->contexts = std::move(contexts);
    }

    void start(accept_handler handler) noexcept override {
        parts_->owners = std::move(handler);
        accepting_->start([this](stream_maker below, error failure) {
            // The owner may destroy this object in its call.
            const std::shared_ptr<parts> its = parts_;
            stream_maker accepted;
            if (below)
                try {
                    accepted = [its, below = std::move(below)](loop &io, std::unique_ptr<stream> &out) {
                        return make_server_stream(io, *its->contexts, below, out);
                    };
                } catch (const std::bad_alloc &) {
                    failure = error::no_memory;
                }
            its->owners(std::move(accepted), failure);
        });
    }
    void go_on() noexcept override { accepting_->go_on(); }
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return accepting_->descriptor(); }

private:
    static error make_server_stream(loop &io, tls_contexts &contexts, const stream_maker &below,
                                    std::unique_ptr<stream> &out) {
        std::unique_ptr<stream> bytes;
        if (const error e = below(io, bytes); failed(e))
            return e;
        return tls_stream::make(io, contexts.current(io.now()), std::move(bytes), out);
    }

    /// A part that outlives the listener: streams may be made when it has gone.
    struct parts {
        contexts_ptr contexts;
        accept_handler owners;
    };

    const std::unique_ptr<listener> accepting_;
    const std::string endpoint_;
    const std::shared_ptr<parts> parts_;
};

/// Dials again and again: what it keeps of the last connection makes the next one cheap.
class tls_dialer final : public dialer {
public:
    tls_dialer(loop &io, contexts_ptr contexts, std::string address, const batching &sizes)
        : loop_(io), contexts_(std::move(contexts)), address_(std::move(address)), sizes_(sizes),
          report_(io, [this] { report(nullptr, failure_); }) {}

    void dial(dial_handler handler) noexcept override {
        handler_ = std::move(handler);
        failure_ = tls_section::is_over()
                       ? error::terminated  // a connection would be of no use
                       : tcp().make_dialer(address_, contexts_->options(), sizes_, loop_, connecting_);
        if (failed(failure_)) {
            connecting_.reset();
            report_.schedule();
            return;
        }
        if (pending_)
            connecting_->report_pending(std::move(pending_));
        connecting_->dial([this](std::unique_ptr<stream> bytes, error failure) {
            std::unique_ptr<stream> connected;
            if (bytes)
                failure =
                    tls_stream::make(loop_, contexts_->current(loop_.now()), std::move(bytes), connected);
            report(std::move(connected), failure);
        });
    }
    bool is_for_more_attempts() const noexcept override { return true; }
    void report_pending(std::function<void()> pending) noexcept override { pending_ = std::move(pending); }
    int descriptor() const noexcept override { return connecting_ ? connecting_->descriptor() : -1; }

private:
    /// The owner may destroy this object in its call, or dial again.
    void report(std::unique_ptr<stream> connected, error failure) noexcept {
        const dial_handler owners = std::move(handler_);
        // A dialer that has failed is still asked for its descriptor. Else this object lives as
        // long as the connection, and that one need not.
        const std::unique_ptr<dialer> done = connected ? std::move(connecting_) : nullptr;
        owners(std::move(connected), failure);
    }

    loop &loop_;
    const contexts_ptr contexts_;
    const std::string address_;
    const batching sizes_;
    deferred_call report_;
    error failure_ = error::none;         // that nobody has heard of yet
    std::unique_ptr<dialer> connecting_;  // the attempt under way, or one that has failed
    std::function<void()> pending_;
    dial_handler handler_;
};

class tls_transport final : public transport {
public:
    constexpr explicit tls_transport(const char *scheme) noexcept : scheme_(scheme) {}
    constexpr ~tls_transport() override {}
    const char *scheme() const noexcept override { return scheme_; }

    error check_connect(const std::string &address, const settings &options) const noexcept override {
        try {
            if (const error e = tcp().check_connect(address, options); failed(e))
                return e;
            contexts_ptr unused;
            return make_client_contexts(address, options, unused);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_dialer(const std::string &address, const settings &options, const batching &sizes, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override {
        try {
            if (const error e = tcp().check_connect(address, options); failed(e))
                return e;
            contexts_ptr contexts;
            if (const error e = make_client_contexts(address, options, contexts); failed(e))
                return e;
            out = std::make_unique<tls_dialer>(io, std::move(contexts), address, sizes);
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    bool may_be_bound_to(const std::string &address, const std::string &endpoint) const noexcept override {
        try {
            return endpoint.starts_with(std::string(scheme_) + ":") &&
                   tcp().may_be_bound_to(address, under("tcp", endpoint));
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    error make_listener(const std::string &address, const settings &options, const tuning &knobs, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override {
        try {
            // A wrong address is told first: that needs no file.
            tcp_local_address where;
            if (const error e = read_tcp_bind(address, where); failed(e))
                return e;
            contexts_ptr contexts;
            if (const error e = tls_contexts::make(tls_context::role::server, options, {}, contexts);
                failed(e))
                return e;
            // They are of its certificate; a failure of tcp has another reason.
            std::string doubts = reason::take();
            std::unique_ptr<listener> accepting;
            if (const error e = tcp().make_listener(address, options, knobs, io, accepting); failed(e))
                return e;
            out = std::make_unique<tls_listener>(scheme_, std::move(contexts), std::move(accepting));
            reason::leave(std::move(doubts));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

private:
    const char *const scheme_;
};

}  // namespace

const transport &tls() noexcept {
    // Never destroyed: I/O threads may outlive main().
    static constexpr tls_transport instance("tls");
    return instance;
}

const transport &tcp_inside_tls() noexcept {
    static constexpr tls_transport instance("tcp");
    return instance;
}

}  // namespace zlink
