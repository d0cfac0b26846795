// PAIR: one peer at a time (RFC 31). A second one is refused until the first has ended.
//
// Input:    of peers that have ended and are not read to their end, and of the one behind them,
//           each is read when its turn has come.
#include <vector>

#include "socket/two_way_pattern.hpp"

namespace zlink {

namespace {

class pair final : public two_way_pattern {
public:
    using two_way_pattern::two_way_pattern;

    void attach(const pipe_end_ptr &pipe, bool is_local) override {
        if (peer_ && peer_->is_peer_closed())
            on_closed(*peer_);
        if (peer_) {
            host_.finished(*pipe);
            return;
        }
        if (!unread_.empty())
            outgoing_.attach(*pipe);
        else
            two_way_pattern::attach(pipe, is_local);
        unread_.push_back(pipe.get());
        peer_ = pipe.get();
    }
    void detach(pipe_end &pipe) noexcept override {
        two_way_pattern::detach(pipe);
        if (peer_ == &pipe)
            peer_ = nullptr;
        leave(pipe);
    }
    void on_closed(pipe_end &pipe) override {
        if (peer_ == &pipe)
            peer_ = nullptr;
        outgoing_.detach(pipe);
        pipe.slot.note_ending();
        const bool waits_for_its_turn = !incoming_.has(pipe);
        two_way_pattern::on_closed(pipe);
        if (waits_for_its_turn && !has_message(pipe))
            finish(pipe);
    }

protected:
    void finish(pipe_end &pipe) noexcept override {
        leave(pipe);
        two_way_pattern::finish(pipe);
    }

private:
    /// The peer's word on itself, in front of its messages, is of no interest.
    static bool has_message(pipe_end &pipe) noexcept {
        frame_view ignored;
        while (pipe.has_command() && pipe.read(ignored)) {
        }
        return pipe.has_input();
    }
    /// A pipe that is gone: the one behind it is read next. There is room for it where the other
    /// was.
    void leave(pipe_end &pipe) noexcept {
        const bool was_first = !unread_.empty() && unread_.front() == &pipe;
        std::erase(unread_, &pipe);
        if (was_first && !unread_.empty())
            incoming_.attach(*unread_.front());
    }

    pipe_end *peer_ = nullptr;        // that has not ended
    std::vector<pipe_end *> unread_;  // in the order they came; the first is in incoming_
};

}  // namespace

std::unique_ptr<pattern> make_pair(const pattern_environment &environment) {
    return std::make_unique<pair>(environment);
}

}  // namespace zlink
