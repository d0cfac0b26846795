// A session whose loop, streams, time and socket are stepped by a test, on one thread.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lone_thread.hpp"
#include "pipe/pace.hpp"
#include "script.hpp"
#include "session/session.hpp"

namespace zlink::test {

class stepped_loop final : public loop {
public:
    void post(loop_task &task) noexcept override { tasks_.push_back(&task); }
    error post(std::function<void()> work) noexcept override {
        work();
        return error::none;
    }
    error post_and_wait(const std::function<void()> &work) noexcept override {
        work();
        return error::none;
    }
    void run_before_sleep(loop_task &task) noexcept override { tasks_.push_back(&task); }
    std::unique_ptr<timer> make_timer(std::function<void()> handler) noexcept override {
        return std::make_unique<idle_timer>(timers_, std::move(handler));
    }
    time_point now() const noexcept override { return time_point(std::chrono::hours(1)); }

    void run() {
        while (!tasks_.empty()) {
            loop_task *next = tasks_.front();
            tasks_.pop_front();
            next->run();
        }
    }

    /// All that are set go off.
    void pass_time() {
        for (idle_timer *each : std::vector(timers_.begin(), timers_.end()))
            if (timers_.contains(each) && std::exchange(each->is_set, false))
                each->handler();
        run();
    }

private:
    struct idle_timer final : timer {
        idle_timer(std::set<idle_timer *> &those, std::function<void()> what)
            : all(those), handler(std::move(what)) {
            all.insert(this);
        }
        ~idle_timer() override { all.erase(this); }
        void expires_at(time_point) noexcept override { is_set = true; }
        void cancel() noexcept override { is_set = false; }
        bool is_pending() const noexcept override { return is_set; }
        std::set<idle_timer *> &all;
        std::function<void()> handler;
        bool is_set = false;
    };
    std::deque<loop_task *> tasks_;
    std::set<idle_timer *> timers_;
};

/// What a stream shows of itself, also when it is gone.
struct stream_state {
    stream_events *events = nullptr;
    std::string input;
    std::size_t taken = 0;  // of it
    std::string output;
    bool is_reset = false;
    bool is_open = true;
    std::function<void()> in_write;  // once

    void receive(std::string_view octets) {
        input += octets;
        events->on_stream_readable();
    }
};

class scripted_stream final : public stream {
public:
    explicit scripted_stream(stream_state &state) : state_(state) {}
    ~scripted_stream() override { state_.is_open = false; }
    void set_events(stream_events *events) noexcept override { state_.events = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        if (state_.taken == state_.input.size())
            return {0, state_.is_reset ? error::connection_reset : error::again};
        std::size_t octets = 0;
        for (const iovec &range : ranges) {
            const std::size_t taken =
                state_.input.copy(static_cast<char *>(range.iov_base), range.iov_len, state_.taken + octets);
            octets += taken;
        }
        state_.taken += octets;
        return {octets};
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        if (state_.is_reset)
            return {0, error::connection_reset};
        std::size_t octets = 0;
        for (const iovec &range : ranges) {
            state_.output.append(static_cast<const char *>(range.iov_base), range.iov_len);
            octets += range.iov_len;
        }
        if (const auto meanwhile = std::exchange(state_.in_write, {}))
            meanwhile();
        EXPECT_TRUE(state_.is_open) << "it was destroyed under its user";
        return {octets};
    }
    std::size_t unconfirmed() noexcept override { return 0; }
    bool finish_writing() noexcept override { return false; }
    void wait_readable() noexcept override {}
    void wait_writable() noexcept override {}
    bool lease_out() noexcept override { return true; }
    int descriptor() const noexcept override { return -1; }
    std::string peer_address() const override { return {}; }
    std::string local_endpoint() const override { return {}; }
    std::string remote_endpoint() const override { return {}; }

private:
    stream_state &state_;
};

struct no_events final : event_sink {
    void emit(const connection_event &) noexcept override {}
};
struct no_chance final : random_source {
    std::uint64_t next() noexcept override { return 0; }
};

/// The context, and the socket with its end of the pipe.
struct session_owner final : session_host, pipe_events {
    pipe_end_ptr make_session_pipe(session &which) noexcept override {
        pipe_options options;
        options.first_to_second_hwm = 1000;
        options.second_to_first_hwm = 1000;
        const pipe_ends ends = make_pipe(pool, options);
        ends.second->set_events(which.shared_from_this());
        near = ends.first;
        return ends.second;
    }
    void withdraw_pipe(const pipe_end &) noexcept override {}
    void on_session_end(session &) noexcept override { has_ended = true; }
    void on_readable(pipe_end &) noexcept override {}
    void on_writable(pipe_end &) noexcept override {}
    void on_closed(pipe_end &) noexcept override {}

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    pipe_end_ptr near;
    bool has_ended = false;
};

/// Where a connecting session dials. The test answers.
class stepped_transport final : public transport {
public:
    const char *scheme() const noexcept override { return "tcp"; }
    error check_connect(const std::string &, const settings &) const noexcept override { return error::none; }
    error make_dialer(const std::string &, const settings &, const batching &, loop &,
                      std::unique_ptr<dialer> &out) const noexcept override {
        out = std::make_unique<stepped_dialer>(waiting_);
        return error::none;
    }
    error make_listener(const std::string &, const settings &, const tuning &, loop &,
                        std::unique_ptr<listener> &) const noexcept override {
        return error::invalid;
    }
    bool is_called() const { return bool(waiting_); }
    void answer(stream_state &as) {
        std::exchange(waiting_, {})(std::make_unique<scripted_stream>(as), error::none);
    }

private:
    struct stepped_dialer final : dialer {
        explicit stepped_dialer(dial_handler &to) : waiting(to) {}
        ~stepped_dialer() override { waiting = {}; }
        void dial(dial_handler handler) noexcept override { waiting = std::move(handler); }
        dial_handler &waiting;
    };
    mutable dial_handler waiting_;
};

struct fixed_clock final : clock_source {
    time_point now() const noexcept override { return time_point(std::chrono::hours(1)); }
};

/// What a session of a socket of this type needs.
inline std::shared_ptr<session_environment> environment_for(socket_type type, loop &io,
                                                            const std::shared_ptr<session_owner> &owner,
                                                            random_source &chance) {
    auto environment = std::make_shared<session_environment>();
    environment->io = &io;
    environment->options = testing::socket_of(type);
    environment->pool = owner->pool;
    environment->events = std::make_shared<no_events>();
    environment->host = owner;
    environment->random = &chance;
    environment->endpoint = "tcp://there";
    return environment;
}

}  // namespace zlink::test
