// PAIR: one peer at a time (RFC 31). A second one is refused until the first has ended and been read to its end.
#include "socket/exchange.hpp"

namespace zlink {

namespace {

class pair final : public exchange {
public:
    using exchange::exchange;

    void attach(const pipe_end_ptr &pipe, bool is_local, bool is_inproc) override {
        if (peer_) {
            host_.finished(*pipe);
            return;
        }
        exchange::attach(pipe, is_local, is_inproc);
        peer_ = pipe.get();
    }
    void detach(pipe_end &pipe) noexcept override {
        exchange::detach(pipe);
        if (peer_ == &pipe)
            peer_ = nullptr;
    }

protected:
    void finish(pipe_end &pipe) noexcept override {
        peer_ = nullptr;
        exchange::finish(pipe);
    }

private:
    pipe_end *peer_ = nullptr;
};

}  // namespace

std::unique_ptr<pattern> make_pair(const pattern_environment &environment) {
    return std::make_unique<pair>(environment);
}

}  // namespace zlink
