// Planted faults: a judge whose verdicts get to the wrong connection.
#pragma once

#include <memory>
#include <vector>

#include "core/authenticator.hpp"
#include "world.hpp"

namespace zlink::sim {

class careless_judge final : public authenticator {
public:
    careless_judge(world &owner, authenticator &judge) noexcept : world_(owner), judge_(judge) {}

    std::unique_ptr<authentication> ask(const authentication_request &what,
                                        std::function<void()> on_answer) override {
        auto asked = judge_.ask(what, std::move(on_answer));
        return asked ? std::make_unique<question>(*this, std::move(asked)) : nullptr;
    }
    /// Questions keep pipes.
    void forget() noexcept { withdrawn_.clear(); }

private:
    class question final : public authentication {
    public:
        question(careless_judge &owner, std::unique_ptr<authentication> asked)
            : owner_(owner), asked_(std::move(asked)) {}
        ~question() override {
            if (!is_answered_ && owner_.world_.has_planted(planted::late_verdict))
                owner_.withdrawn_.push_back(std::move(asked_));
        }
        bool take(zlink::verdict &out) override {
            return is_answered_ = owner_.takes_another(out) || take_own(out);
        }

    private:
        bool take_own(zlink::verdict &out) {
            if (!asked_->take(out))
                return false;
            if (out.what == zlink::verdict::kind::accepted &&
                owner_.world_.has_planted(planted::verdict_twice))
                owner_.last_ = std::make_unique<zlink::verdict>(out);
            return true;
        }

        careless_judge &owner_;
        std::unique_ptr<authentication> asked_;
        bool is_answered_ = false;
    };

    /// A verdict that was for another connection.
    bool takes_another(zlink::verdict &out) {
        if (const auto last = std::move(last_)) {
            out = *last;
            return true;
        }
        for (const auto &each : withdrawn_)
            if (each->take(out)) {
                std::erase(withdrawn_, each);
                return true;
            }
        return false;
    }

    world &world_;
    authenticator &judge_;
    std::unique_ptr<zlink::verdict> last_;
    std::vector<std::unique_ptr<authentication>> withdrawn_;
};

}  // namespace zlink::sim
