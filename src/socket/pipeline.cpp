// PUSH and PULL: work goes to the peers in turn, and comes from them in turn (RFC 30).
#include "pipe/fair_queue.hpp"
#include "pipe/load_balancer.hpp"
#include "socket/pattern.hpp"

namespace zlink {

namespace {

class push final : public plain_pattern {
public:
    explicit push(const pattern_environment &environment) : host_(environment.host) {}

    void attach(const pipe_end_ptr &pipe, bool) override { workers_.attach(*pipe); }
    void detach(pipe_end &pipe) noexcept override { workers_.detach(pipe); }
    void on_readable(pipe_end &) override {}
    void on_writable(pipe_end &pipe) override { workers_.activate(pipe); }
    void on_closed(pipe_end &pipe) override {
        if (!workers_.has(pipe))
            return;
        workers_.detach(pipe);
        host_.finished(pipe);
    }

    error send(const outgoing &frame) override {
        if (__builtin_expect(workers_.is_dropping(), 0)) {
            workers_.drop(frame.more);
            if (!frame.more)
                host_.count_drop(counter::dropped_peer_gone);
            return error::none;
        }
        pipe_end *pipe = workers_.select();
        if (!pipe)
            return error::again;
        if (const error e = write_frame(*pipe, frame); failed(e))
            return e;
        workers_.commit(*pipe, frame.more);
        return error::none;
    }
    direct_way direct_output() noexcept override { return {workers_.only()}; }
    error receive(frame_view &) override { return error::not_supported; }
    bool has_input() override { return false; }
    bool has_output() override { return workers_.has_output(); }
    bool arm(bool, bool for_output) override {
        if (for_output) {
            if (workers_.has_output())
                return true;
            workers_.arm();
        }
        heavy_fence();
        return for_output && workers_.settle();
    }

private:
    pattern_host &host_;
    load_balancer workers_;
};

class pull final : public plain_pattern {
public:
    explicit pull(const pattern_environment &environment) : host_(environment.host) {}

    void attach(const pipe_end_ptr &pipe, bool) override { sources_.attach(*pipe); }
    void detach(pipe_end &pipe) noexcept override { sources_.detach(pipe); }
    void on_readable(pipe_end &pipe) override { sources_.activate(pipe); }
    void on_writable(pipe_end &) override {}
    void on_closed(pipe_end &pipe) override {
        if (sources_.has(pipe) && sources_.end(pipe, *this))
            host_.finished(pipe);
    }

    error send(const outgoing &) override { return error::not_supported; }
    error receive(frame_view &out) override { return sources_.read(out, *this) ? error::none : error::again; }
    direct_way direct_input() noexcept override { return {sources_.only()}; }
    bool has_input() override { return sources_.has_input(*this); }
    bool has_output() override { return false; }
    bool arm(bool for_input, bool) override {
        if (for_input) {
            if (has_input())
                return true;
            sources_.arm();
        }
        heavy_fence();
        return for_input && sources_.settle();
    }

    // For the fair queue.
    void on_command(pipe_end &, const frame_view &) noexcept {}
    void on_end(pipe_end &pipe) noexcept { host_.finished(pipe); }

private:
    pattern_host &host_;
    fair_queue sources_;
};

}  // namespace

std::unique_ptr<pattern> make_push(const pattern_environment &environment) {
    return std::make_unique<push>(environment);
}

std::unique_ptr<pattern> make_pull(const pattern_environment &environment) {
    return std::make_unique<pull>(environment);
}

}  // namespace zlink
