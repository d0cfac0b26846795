// A pipe that goes; the rest is in the header; see load_balancer.hpp.
#include "pipe/load_balancer.hpp"

namespace zlink {

void load_balancer::detach(pipe_end &pipe) noexcept {
    if (!turns_.has(pipe))
        return;
    turns_.remove(pipe);
    if (writing_ == &pipe) {
        pipe.roll_back();
        writing_ = nullptr;
        is_dropping_ = true;
    }
}

}  // namespace zlink
