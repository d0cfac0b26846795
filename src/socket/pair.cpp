// PAIR: one peer at a time (RFC 31). A second one is refused until the first has ended and been read to its end.
#include "socket/two_way_pattern.hpp"

namespace zlink {

namespace {

class pair final : public two_way_pattern {
public:
    using two_way_pattern::two_way_pattern;

    void attach(const pipe_end_ptr &pipe, bool is_local) override {
        if (peer_) {
            host_.finished(*pipe);
            return;
        }
        two_way_pattern::attach(pipe, is_local);
        peer_ = pipe.get();
    }
    void detach(pipe_end &pipe) noexcept override {
        two_way_pattern::detach(pipe);
        if (peer_ == &pipe)
            peer_ = nullptr;
    }

protected:
    void finish(pipe_end &pipe) noexcept override {
        peer_ = nullptr;
        two_way_pattern::finish(pipe);
    }

private:
    pipe_end *peer_ = nullptr;
};

}  // namespace

std::unique_ptr<pattern> make_pair(const pattern_environment &environment) {
    return std::make_unique<pair>(environment);
}

}  // namespace zlink
