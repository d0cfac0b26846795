#include "reactor/resolver.hpp"

#include <cstring>
#include <netdb.h>

#include "reactor/asio_loop.hpp"
#include "reactor/deferred_call.hpp"

#include <boost/asio/ip/tcp.hpp>

namespace zlink {

namespace {

error from_resolver(const boost::system::error_code &ec) noexcept {
    if (ec == boost::asio::error::no_memory)
        return error::no_memory;
    if (ec.category() == boost::system::system_category())
        return from_errno(ec.value());
    return error::host_unreachable;
}

// Shared with Asio's handler, which comes even after cancel(), when the resolver may be gone.
struct question {
    bool is_cancelled = false;
};

class asio_resolver final : public resolver {
public:
    explicit asio_resolver(asio_loop &io) : loop_(io), answer_(io, [this] { answer(); }) {}
    ~asio_resolver() override { cancel(); }

    void resolve(const std::string &host, const std::string &service, bool allow_ipv6,
                 handler done) noexcept override {
        cancel();
        done_ = std::move(done);
        try {
            resolved_address literal;
            if (host.empty())
                answer_later({}, error::invalid);
            else if (parse_numeric_address(host, service, allow_ipv6, literal))
                answer_later({literal}, error::none);
            else
                ask(host, service, allow_ipv6);
        } catch (const std::bad_alloc &) {
            answer_later({}, error::no_memory);
        } catch (const std::exception &) {  // the background thread cannot be started
            answer_later({}, error::again);
        }
    }

private:
    using names =
        boost::asio::ip::basic_resolver<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

    void ask(const std::string &host, const std::string &service, bool allow_ipv6) {
        if (!names_)
            names_ = std::make_unique<names>(loop_.context());
        question_ = std::make_shared<question>();
        auto on_answer = [this, io = &loop_, q = question_](const boost::system::error_code &ec,
                                                            const names::results_type &results) {
            io->begin_handler();
            if (!q->is_cancelled)
                take(ec, results);
        };
        if (allow_ipv6)
            names_->async_resolve(host, service, names::numeric_service, std::move(on_answer));
        else
            names_->async_resolve(boost::asio::ip::tcp::v4(), host, service, names::numeric_service,
                                  std::move(on_answer));
    }

    void take(const boost::system::error_code &ec, const names::results_type &results) noexcept {
        try {
            std::vector<resolved_address> found;
            for (const auto &entry : results) {
                const auto endpoint = entry.endpoint();
                resolved_address a;
                a.length = static_cast<socklen_t>(endpoint.size());
                std::memcpy(&a.address, endpoint.data(), a.length);
                found.push_back(a);
            }
            const error failure = ec              ? from_resolver(ec)
                                  : found.empty() ? error::host_unreachable
                                                  : error::none;
            answer_later(std::move(found), failure);
        } catch (const std::bad_alloc &) {
            answer_later({}, error::no_memory);
        }
    }

    void answer_later(std::vector<resolved_address> found, error failure) noexcept {
        found_ = std::move(found);
        failure_ = failure;
        answer_.schedule();
    }

    // The owner may destroy this object in the call.
    void answer() {
        handler call = std::exchange(done_, nullptr);
        call(std::exchange(found_, {}), failure_);
    }

    void cancel() noexcept {
        if (question_) {
            question_->is_cancelled = true;
            question_.reset();
            names_->cancel();
        }
        answer_.cancel();
        done_ = nullptr;
    }

    asio_loop &loop_;
    deferred_call answer_;
    std::unique_ptr<names> names_;
    std::shared_ptr<question> question_;
    handler done_;
    std::vector<resolved_address> found_;
    error failure_ = error::none;
};

}  // namespace

bool parse_numeric_address(const std::string &host, const std::string &service, bool allow_ipv6,
                           resolved_address &out) noexcept {
    addrinfo hints{};
    hints.ai_family = allow_ipv6 ? AF_UNSPEC : AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo *found = nullptr;
    if (::getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0)
        return false;
    out.length = found->ai_addrlen;
    std::memcpy(&out.address, found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    return true;
}

std::unique_ptr<resolver> make_resolver(loop &io) noexcept {
    try {
        return std::make_unique<asio_resolver>(static_cast<asio_loop &>(io));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

}  // namespace zlink
