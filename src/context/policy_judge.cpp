// Two answers for one question: of the policy, and of the program's handler; see policy_judge.hpp.
// Map: an answer that is there at once; one that waits for the handler; the judge.
#include "context/policy_judge.hpp"

namespace zlink {

namespace {

constexpr int not_authorised = 400;
constexpr int not_now = 300;  // RFC 27: the client may try again

/// The policy's own answer, which is there at once.
class answered final : public authentication {
public:
    explicit answered(verdict what) : what_(std::move(what)) {}
    bool take(verdict &out) override {
        out = what_;
        return true;
    }

private:
    const verdict what_;
};

/// The policy knows the peer; what the handler says counts. One that names no user leaves the
/// policy's.
class with_handler final : public authentication {
public:
    with_handler(std::unique_ptr<authentication> asked, verdict policys)
        : asked_(std::move(asked)), policys_(std::move(policys)) {}
    bool take(verdict &out) override {
        if (!asked_->take(out))
            return false;
        if (out.what == verdict::kind::accepted) {
            if (out.user_id.empty())
                out.user_id = policys_.user_id;
            out.lasts = policys_.lasts;
        }
        return true;
    }

private:
    const std::unique_ptr<authentication> asked_;
    const verdict policys_;
};

class policy_judge final : public authenticator {
public:
    policy_judge(std::shared_ptr<standing> policy, authenticator *handlers,
                 bool asks_of_certificates) noexcept
        : policy_(std::move(policy)), handlers_(handlers), asks_of_certificates_(asks_of_certificates) {}

    std::unique_ptr<authentication> ask(const authentication_request &what,
                                        std::function<void()> on_answer) override {
        verdict own;
        const opinion policys = policy_->opinion_of(what.shown, own);
        std::unique_ptr<authentication> asked;
        const bool may_come_in = policys == opinion::none || policys == opinion::accepts;
        if (may_come_in && handlers_ && (asks_of_certificates_ || what.shown.mechanism != "TLS"))
            asked = handlers_->ask(what, on_answer);
        if (policys == opinion::none)
            return asked;
        if (asked)
            return std::make_unique<with_handler>(std::move(asked), std::move(own));
        const bool is_known = policys == opinion::accepts;
        own.what = is_known ? verdict::kind::accepted : verdict::kind::refused;
        own.status = is_known ? 0 : policys == opinion::refuses ? not_authorised : not_now;
        auto made = std::make_unique<answered>(std::move(own));
        on_answer();
        return made;
    }

private:
    const std::shared_ptr<standing> policy_;
    authenticator *const handlers_;
    const bool asks_of_certificates_;
};

}  // namespace

std::shared_ptr<authenticator> make_policy_judge(std::shared_ptr<standing> policy, authenticator *handlers,
                                                 bool asks_of_certificates) {
    return std::make_shared<policy_judge>(std::move(policy), handlers, asks_of_certificates);
}

}  // namespace zlink
