#include "context/policy_judge.hpp"

namespace zlink {

namespace {

constexpr int not_authorised = 400;

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

/// The policy knows the peer; what the handler says counts. One that names no user leaves the policy's.
class with_handler final : public authentication {
public:
    with_handler(std::unique_ptr<authentication> asked, std::string user)
        : asked_(std::move(asked)), user_(std::move(user)) {}
    bool take(verdict &out) override {
        if (!asked_->take(out))
            return false;
        if (out.what == verdict::kind::accepted && out.user_id.empty())
            out.user_id = user_;
        return true;
    }

private:
    const std::unique_ptr<authentication> asked_;
    const std::string user_;
};

class policy_judge final : public authenticator {
public:
    policy_judge(std::shared_ptr<standing> policy, authenticator *handlers) noexcept
        : policy_(std::move(policy)), handlers_(handlers) {}

    std::unique_ptr<authentication> ask(const authentication_request &what,
                                        std::function<void()> on_answer) override {
        const credentials &shown = what.shown;
        const bool is_known = shown.mechanism == "PLAIN" && shown.items.size() == 2 &&
                              policy_->knows(shown.items[0], shown.items[1]);
        std::unique_ptr<authentication> asked;
        if (is_known && handlers_)
            asked = handlers_->ask(what, on_answer);
        if (asked)
            return std::make_unique<with_handler>(std::move(asked), shown.items[0]);
        verdict own;
        own.what = is_known ? verdict::kind::accepted : verdict::kind::refused;
        own.status = is_known ? 0 : not_authorised;
        if (is_known)
            own.user_id = shown.items[0];
        auto made = std::make_unique<answered>(std::move(own));
        on_answer();
        return made;
    }

private:
    const std::shared_ptr<standing> policy_;
    authenticator *const handlers_;
};

}  // namespace

std::shared_ptr<authenticator> make_policy_judge(std::shared_ptr<standing> policy, authenticator *handlers) {
    return std::make_shared<policy_judge>(std::move(policy), handlers);
}

}  // namespace zlink
