// The scheme tls: tcp, with each of its streams inside TLS.
//
// Addresses, dialing and listening are tcp's, a proxy too. The handshake begins on the stream that has come about, and is bounded as
// that of ZMTP is.
// Files:    a listener reads certificate and key once, when it is bound; a dialer with each attempt.
// Order:    what the options say; the listener; the dialer; the transport.
#include "transport/endpoint.hpp"
#include "transport/tls_context.hpp"
#include "transport/tls_stream.hpp"
#include "transport/transport.hpp"

namespace zlink {

namespace {

using context_ptr = std::shared_ptr<const tls_context>;

error make_client_context(const std::string &address, const settings &options, context_ptr &out) {
    tcp_remote_address to;
    if (const error e = parse_tcp_connect(address, to); failed(e))
        return e;
    return tls_context::make(tls_context::role::client, options, std::move(to.host), out);
}

class tls_listener final : public listener {
public:
    tls_listener(loop &io, context_ptr context, std::unique_ptr<listener> accepting)
        : loop_(io), context_(std::move(context)), accepting_(std::move(accepting)),
          endpoint_(as_tls_endpoint(accepting_->endpoint())), handler_(std::make_shared<accept_handler>()) {}

    void start(accept_handler handler) noexcept override {
        *handler_ = std::move(handler);
        accepting_->start([this](std::unique_ptr<stream> bytes, error failure) {
            const std::shared_ptr<accept_handler> owners =
                handler_;  // who may destroy this object in its call
            std::unique_ptr<stream> accepted;
            if (bytes)
                failure = tls_stream::make(loop_, context_, std::move(bytes), accepted);
            (*owners)(std::move(accepted), failure);
        });
    }
    const std::string &endpoint() const noexcept override { return endpoint_; }
    int descriptor() const noexcept override { return accepting_->descriptor(); }

private:
    loop &loop_;
    const context_ptr context_;
    const std::unique_ptr<listener> accepting_;
    const std::string endpoint_;
    const std::shared_ptr<accept_handler> handler_;
};

class tls_dialer final : public dialer {
public:
    tls_dialer(loop &io, context_ptr context, std::unique_ptr<dialer> connecting)
        : loop_(io), context_(std::move(context)), connecting_(std::move(connecting)) {}

    void dial(dial_handler handler) noexcept override {
        handler_ = std::move(handler);
        connecting_->dial([this](std::unique_ptr<stream> bytes, error failure) {
            const dial_handler owners =
                std::move(handler_);  // who may destroy this object in its call, or dial again
            std::unique_ptr<stream> connected;
            if (bytes)
                failure = tls_stream::make(loop_, context_, std::move(bytes), connected);
            owners(std::move(connected), failure);
        });
    }
    void report_pending(std::function<void()> pending) noexcept override {
        connecting_->report_pending(std::move(pending));
    }
    int descriptor() const noexcept override { return connecting_->descriptor(); }

private:
    loop &loop_;
    const context_ptr context_;
    const std::unique_ptr<dialer> connecting_;
    dial_handler handler_;
};

class tls_transport final : public transport {
public:
    constexpr ~tls_transport() override {}
    const char *scheme() const noexcept override { return "tls"; }

    error check_connect(const std::string &address, const settings &options) const noexcept override {
        try {
            if (const error e = tcp().check_connect(address, options); failed(e))
                return e;
            context_ptr unused;
            return make_client_context(address, options, unused);
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    error make_dialer(const std::string &address, const settings &options, const batching &sizes, loop &io,
                      std::unique_ptr<dialer> &out) const noexcept override {
        try {
            context_ptr context;
            if (const error e = make_client_context(address, options, context); failed(e))
                return e;
            std::unique_ptr<dialer> connecting;
            if (const error e = tcp().make_dialer(address, options, sizes, io, connecting); failed(e))
                return e;
            out = std::make_unique<tls_dialer>(io, std::move(context), std::move(connecting));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }

    bool may_be_bound_to(const std::string &address, const std::string &endpoint) const noexcept override {
        try {
            return endpoint.starts_with("tls:") &&
                   tcp().may_be_bound_to(address, "tcp" + endpoint.substr(endpoint.find(':')));
        } catch (const std::bad_alloc &) {
            return false;
        }
    }

    error make_listener(const std::string &address, const settings &options, const tuning &knobs, loop &io,
                        std::unique_ptr<listener> &out) const noexcept override {
        try {
            context_ptr context;
            if (const error e = tls_context::make(tls_context::role::server, options, {}, context); failed(e))
                return e;
            std::unique_ptr<listener> accepting;
            if (const error e = tcp().make_listener(address, options, knobs, io, accepting); failed(e))
                return e;
            out = std::make_unique<tls_listener>(io, std::move(context), std::move(accepting));
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }
};

}  // namespace

const transport &tls() noexcept {
    static constexpr tls_transport instance;  // never destroyed: I/O threads may outlive main()
    return instance;
}

}  // namespace zlink
