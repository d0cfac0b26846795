// DEALER: sends to its peers in turn, receives from them in turn, and keeps no state of the conversation (RFC 28).
#include "socket/exchange.hpp"

namespace zlink {

namespace {

class dealer final : public exchange {
public:
    using exchange::exchange;

    void attach(const pipe_end_ptr &pipe, bool is_local, bool is_inproc) override {
        exchange::attach(pipe, is_local, is_inproc);
        if (options_.probe_router)
            send_probe(*pipe);
    }
};

}  // namespace

std::unique_ptr<pattern> make_dealer(const pattern_environment &environment) {
    return std::make_unique<dealer>(environment);
}

}  // namespace zlink
