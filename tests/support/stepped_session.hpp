// A session whose loop, streams, time and socket are stepped by a test, on one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lone_thread.hpp"
#include "pipe/flow/pace.hpp"
#include "script.hpp"
#include "session/session.hpp"
#include "short_heap.hpp"
#include "transport/kernel_copy.hpp"
#include "virtual_loop.hpp"

namespace zlink::test {

/// Holds what a stream shows of itself, also when it is gone, and what it is to do.
struct stream_state {
    stream_events *events = nullptr;
    std::string input;
    std::size_t taken = 0;  // of it
    std::string output;
    bool is_reset = false;  // behind the input
    bool is_open = true;
    std::function<void()> in_write;  // once

    // It is to do this:
    std::size_t most_in_read = SIZE_MAX;
    std::size_t most_in_write = SIZE_MAX;
    std::size_t room = SIZE_MAX;        // octets that it takes until it is full
    std::size_t until_busy = SIZE_MAX;  // octets that it takes until another thread is at it
    error write_failure = error::none;  // once it is full
    error take_back_failure = error::none;
    error own_handshake = error::none;  // how far it is
    std::optional<credentials> shown;   // of the peer
    error introduction = error::none;
    bool may_be_leased = true;
    bool holds_input = false;
    bool is_of_the_system = false;  // which reads into some memory slowly
    std::size_t messages_about_keys =
        0;  // in front of the rest of the input, of which each read in vain takes one
    std::size_t unconfirmed = 0;
    bool may_finish = false;

    // It was told this:
    std::vector<iovec> last_read;  // where it went
    bool is_behind_keys = false;   // the rest of the input, which it holds
    bool is_read_awaited = false;
    bool is_room_awaited = false;
    bool is_leased = false;
    bool is_finished = false;
    bool expects_sealed_bodies = false;

    void receive(std::string_view octets) {
        input += octets;
        is_read_awaited = false;
        events->on_stream_readable();
    }
    /// Octets arrive: whoever waits for them is called, as long as there are any.
    void arrive(std::string_view octets) {
        input += octets;
        let_read();
    }
    void let_read() {
        while ((taken < input.size() || is_reset) && std::exchange(is_read_awaited, false))
            events->on_stream_readable();
    }
    /// It takes so many octets more: whoever waits for room is called.
    void make_room(std::size_t octets) {
        room = octets;
        while ((room > 0 || failed(write_failure)) && std::exchange(is_room_awaited, false))
            events->on_stream_writable();
    }
};

class scripted_stream final : public stream {
public:
    explicit scripted_stream(stream_state &state) : state_(state) {}
    ~scripted_stream() override { state_.is_open = false; }
    void set_events(stream_events *events) noexcept override { state_.events = events; }
    error shake_hands() noexcept override { return state_.own_handshake; }
    error introduce(std::optional<credentials> &out) noexcept override {
        short_heap::uncounted([&] { out = state_.shown; });
        return state_.introduction;
    }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        if (state_.taken == state_.input.size())
            return {0, state_.is_reset ? error::connection_reset : error::again};
        if (state_.messages_about_keys > 0) {
            --state_.messages_about_keys;
            state_.is_behind_keys = true;
            return {0, error::again};
        }
        state_.is_behind_keys = false;
        std::size_t octets = 0;
        short_heap::uncounted([&] { state_.last_read.assign(ranges.begin(), ranges.end()); });
        for (const iovec &range : ranges) {
            const std::size_t taken = state_.input.copy(static_cast<char *>(range.iov_base),
                                                        std::min(range.iov_len, state_.most_in_read - octets),
                                                        state_.taken + octets);
            octets += taken;
        }
        state_.taken += octets;
        return {octets};
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        if (state_.is_reset)
            return {0, error::connection_reset};
        std::size_t octets = 0;
        short_heap::uncounted([&] { octets = take(ranges); });
        EXPECT_TRUE(state_.is_open) << "it was destroyed under its user";
        if (state_.until_busy == 0 && state_.room > 0 && octets < size_of(ranges))
            return {octets, error::busy};
        if (octets == 0 && !ranges.empty())
            return {0, failed(state_.write_failure) ? state_.write_failure : error::again};
        return {octets};
    }
    std::optional<std::size_t> way_round(const void *body, const void *next,
                                         const void *by) const noexcept override {
        if (!state_.is_of_the_system || !kernel_copy::is_slow_to_receive(body))
            return {};
        return kernel_copy::octets_behind_a_quick_place(by, next);
    }
    void expect_sealed_bodies() noexcept override { state_.expects_sealed_bodies = true; }
    std::size_t unconfirmed() noexcept override { return state_.unconfirmed; }
    bool finish_writing() noexcept override {
        state_.is_finished = state_.may_finish;
        return state_.may_finish;
    }
    bool holds_input() const noexcept override { return state_.holds_input || state_.is_behind_keys; }
    void wait_readable() noexcept override {
        EXPECT_FALSE(state_.is_leased);
        state_.is_read_awaited = true;
    }
    void wait_writable() noexcept override {
        EXPECT_FALSE(state_.is_leased);
        state_.is_room_awaited = true;
    }
    bool lease_out() noexcept override {
        EXPECT_FALSE(state_.is_leased);
        if (!state_.may_be_leased)
            return false;
        state_.is_leased = true;
        state_.is_read_awaited = state_.is_room_awaited = false;
        return true;
    }
    error take_back() noexcept override {
        EXPECT_TRUE(state_.is_leased);
        state_.is_leased = false;
        return state_.take_back_failure;
    }
    int descriptor() const noexcept override { return -1; }
    std::string peer_address() const override { return {}; }
    std::string local_endpoint() const override { return {}; }
    std::string remote_endpoint() const override { return {}; }

private:
    static std::size_t size_of(std::span<const iovec> ranges) noexcept {
        std::size_t octets = 0;
        for (const iovec &range : ranges)
            octets += range.iov_len;
        return octets;
    }
    std::size_t take(std::span<const iovec> ranges) {
        const std::size_t most = std::min({state_.room, state_.most_in_write, state_.until_busy});
        std::size_t octets = 0;
        for (const iovec &range : ranges) {
            const std::size_t taken = std::min(range.iov_len, most - octets);
            state_.output.append(static_cast<const char *>(range.iov_base), taken);
            octets += taken;
        }
        if (state_.room != SIZE_MAX)
            state_.room -= octets;
        if (state_.until_busy != SIZE_MAX)
            state_.until_busy -= octets;
        if (const auto meanwhile = std::exchange(state_.in_write, {}))
            meanwhile();
        return octets;
    }

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
        try {
            const pipe_ends ends = make_pipe(pool, options);
            ends.second->set_events(which.shared_from_this());
            near = ends.first;
            return ends.second;
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
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

/// This is where a connecting session dials. The test answers.
class stepped_transport final : public transport {
public:
    const char *scheme() const noexcept override { return "tcp"; }
    error check_connect(const std::string &, const settings &) const noexcept override { return error::none; }
    error make_dialer(const std::string &, const settings &, const batching &, loop &,
                      std::unique_ptr<dialer> &out) const noexcept override {
        out.reset(new (std::nothrow) stepped_dialer(waiting_));
        return out ? error::none : error::no_memory;
    }
    error make_listener(const std::string &, const settings &, const tuning &, loop &,
                        std::unique_ptr<listener> &) const noexcept override {
        return error::invalid;
    }
    bool is_called() const { return bool(waiting_); }
    void answer(stream_state &as) {
        auto made = short_heap::uncounted([&] { return std::make_unique<scripted_stream>(as); });
        std::exchange(waiting_, {})(std::move(made), error::none);
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

/// Returns what a session of a socket of this type needs.
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
    environment->address = "there";
    return environment;
}

}  // namespace zlink::test
