// Sends in turn and receives in turn: what PAIR, DEALER and REQ have in common.
#pragma once

#include "pipe/fair_queue.hpp"
#include "pipe/load_balancer.hpp"
#include "socket/pattern.hpp"

namespace zlink {

class two_way_pattern : public plain_pattern {
public:
    explicit two_way_pattern(const pattern_environment &environment)
        : options_(environment.options), host_(environment.host) {}

    void attach(const pipe_end_ptr &pipe, bool is_local) override;
    void detach(pipe_end &pipe) noexcept override;
    void on_readable(pipe_end &pipe) override { incoming_.activate(pipe); }
    void on_writable(pipe_end &pipe) override { outgoing_.activate(pipe); }
    void on_closed(pipe_end &pipe) override;

    error send(const outgoing &frame) override;
    error receive(frame_view &out) override {
        return incoming_.read(out, *this) ? error::none : error::again;
    }
    direct_way direct_input() noexcept override { return {incoming_.only()}; }
    direct_way direct_output() noexcept override { return {outgoing_.only()}; }
    bool has_input() override { return incoming_.has_input(*this); }
    bool has_output() override { return outgoing_.has_output(); }
    bool arm(bool for_input, bool for_output) override;

    // For the fair queue.
    void on_command(pipe_end &, const frame_view &) noexcept {}
    void on_end(pipe_end &pipe) noexcept { finish(pipe); }

protected:
    /// A pipe is read to its end: the pattern is done with it.
    virtual void finish(pipe_end &pipe) noexcept { host_.finished(pipe); }

    settings &options_;
    pattern_host &host_;
    fair_queue incoming_;
    load_balancer outgoing_;
};

/// Sends the empty message that makes a ROUTER at the other end know this peer (ZMQ_PROBE_ROUTER).
void send_probe(sender &pipe) noexcept;

}  // namespace zlink
