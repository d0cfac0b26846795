// Numeric addresses at once, and all others by name_lookup; see resolver.hpp.
#include "reactor/resolver.hpp"

#include <cstring>
#include <netdb.h>

#include "reactor/asio_loop.hpp"
#include "reactor/deferred_call.hpp"

namespace zlink {

namespace {

class loop_resolver final : public resolver {
public:
    explicit loop_resolver(asio_loop &io) : loop_(io), answer_(io, [this] { answer(); }) {}
    ~loop_resolver() override { cancel(); }

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
    void ask(const std::string &host, const std::string &service, bool allow_ipv6) {
        question_ = std::make_shared<name_question>(
            host, service, allow_ipv6, [this](std::vector<resolved_address> found, error failure) {
                question_.reset();
                handler call = std::exchange(done_, nullptr);
                call(std::move(found), failure);
            });
        try {
            loop_.names().ask(question_);
        } catch (...) {
            question_.reset();
            throw;
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
            question_->cancel();
            question_.reset();
        }
        answer_.cancel();
        done_ = nullptr;
    }

    asio_loop &loop_;
    deferred_call answer_;
    std::shared_ptr<name_question> question_;
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
        return std::make_unique<loop_resolver>(static_cast<asio_loop &>(io));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

}  // namespace zlink
