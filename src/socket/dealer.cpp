// DEALER: sends to its peers in turn, receives from them in turn, and keeps no state of the
//         conversation (RFC 28).
#include "socket/two_way_pattern.hpp"

namespace zlink {

namespace {

class dealer final : public two_way_pattern {
public:
    using two_way_pattern::two_way_pattern;

    void attach(const pipe_end_ptr &pipe, bool is_local) override {
        two_way_pattern::attach(pipe, is_local);
        if (options_.probe_router)
            send_probe(*pipe);
    }
};

}  // namespace

std::unique_ptr<pattern> make_dealer(const pattern_environment &environment) {
    return std::make_unique<dealer>(environment);
}

}  // namespace zlink
