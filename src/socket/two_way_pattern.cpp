// A load balancer and a fair queue side by side; see two_way_pattern.hpp.
#include "socket/two_way_pattern.hpp"

namespace zlink {

void two_way_pattern::attach(const pipe_end_ptr &pipe, bool) {
    incoming_.attach(*pipe);
    outgoing_.attach(*pipe);
}

void two_way_pattern::detach(pipe_end &pipe) noexcept {
    outgoing_.detach(pipe);
    incoming_.detach(pipe);
}

void two_way_pattern::on_closed(pipe_end &pipe) {
    if (!incoming_.has(pipe))
        return;
    outgoing_.detach(pipe);
    if (incoming_.end(pipe, *this))
        finish(pipe);
}

error two_way_pattern::send(const outgoing &frame) {
    if (__builtin_expect(outgoing_.is_dropping(), 0)) {
        outgoing_.drop(frame.more);
        if (!frame.more)
            host_.count_drop(counter::dropped_peer_gone);
        return error::none;
    }
    pipe_end *pipe = outgoing_.select();
    if (!pipe)
        return error::again;
    if (const error e = write_frame(*pipe, frame); failed(e))
        return e;
    outgoing_.commit(*pipe, frame.more);
    return error::none;
}

bool two_way_pattern::arm(bool for_input, bool for_output) {
    if ((for_input && has_input()) || (for_output && has_output()))
        return true;
    if (for_input)
        incoming_.arm();
    if (for_output)
        outgoing_.arm();
    heavy_fence();
    const bool found_input = for_input && incoming_.settle();
    const bool found_output = for_output && outgoing_.settle();
    return found_input || found_output;
}

void send_probe(sender &pipe) noexcept {
    if (pipe.has_credit() && !failed(pipe.write(0, {})))
        pipe.publish();
}

}  // namespace zlink
