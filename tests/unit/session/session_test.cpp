// The end of a session while the thread of the socket is inside its connection: the loop's thread goes on with other things, and
// comes back when that thread has left.
//
// Method:   one thread plays both. What the loop has to do meanwhile is done from inside the stream, in the middle of a call of the
//           socket's; a loop that waited for that call would never come back.
#include "session/session.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "lone_thread.hpp"
#include "pipe/pace.hpp"
#include "script.hpp"

namespace zlink {
namespace {

using testing::greeting;
using testing::message;
using testing::ready;

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
    std::unique_ptr<timer> make_timer(std::function<void()>) noexcept override {
        return std::make_unique<idle_timer>();
    }
    time_point now() const noexcept override { return time_point(std::chrono::hours(1)); }

    void run() {
        while (!tasks_.empty()) {
            loop_task *next = tasks_.front();
            tasks_.pop_front();
            next->run();
        }
    }

private:
    struct idle_timer final : timer {
        void expires_at(time_point) noexcept override { is_set = true; }
        void cancel() noexcept override { is_set = false; }
        bool is_pending() const noexcept override { return is_set; }
        bool is_set = false;
    };
    std::deque<loop_task *> tasks_;
};

/// What a stream shows of itself, also when it is gone.
struct stream_state {
    stream_events *events = nullptr;
    std::string input;
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
        if (state_.input.empty())
            return {0, state_.is_reset ? error::connection_reset : error::again};
        std::size_t octets = 0;
        for (const iovec &range : ranges) {
            const std::size_t taken = state_.input.copy(static_cast<char *>(range.iov_base), range.iov_len);
            state_.input.erase(0, taken);
            octets += taken;
        }
        return {octets};
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
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
    bool lend() noexcept override { return true; }
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

struct fixed_clock final : clock_source {
    time_point now() const noexcept override { return time_point(std::chrono::hours(1)); }
};

class session_test : public ::testing::Test {
protected:
    void SetUp() override {
        auto environment = std::make_shared<session_environment>();
        environment->io = &io;
        environment->options = testing::socket_of(socket_type::pair);
        environment->pool = owner->pool;
        environment->events = std::make_shared<no_events>();
        environment->host = owner;
        environment->random = &chance;
        environment->endpoint = "tcp://there";
        it = session::accepted(environment, std::make_unique<scripted_stream>(state));
        ASSERT_EQ(it->start(), error::none);
        io.run();
        state.receive(greeting());
        state.receive(ready("PAIR"));
        io.run();
        ASSERT_TRUE(owner->near);
        owner->near->set_events(owner);
        owner->near->set_pace(&pace_of_sender);
    }
    void TearDown() override {
        io.run();
        EXPECT_TRUE(owner->has_ended);
        EXPECT_FALSE(state.is_open);
        owner->near.reset();  // the pipe keeps its owner
    }

    void send(std::string_view body) {
        ASSERT_EQ(owner->near->write(0, {reinterpret_cast<const std::uint8_t *>(body.data()), body.size()}),
                  error::none);
        owner->near->publish();
    }
    /// The connection is lent, and in use.
    void borrow() {
        ASSERT_TRUE(owner->near->ask_to_borrow());
        io.run();
        ASSERT_NE(owner->near->begin_use(), nullptr);
    }
    void lose_peer() {
        state.is_reset = true;
        state.events->on_stream_readable();
        io.run();
    }

    stepped_loop io;
    stream_state state;
    no_chance chance;
    fixed_clock clock;
    test::lone_thread sender;
    pace pace_of_sender{clock, sender};
    std::shared_ptr<session_owner> owner = std::make_shared<session_owner>();
    std::shared_ptr<session> it;
};

TEST_F(session_test, ends_when_its_peer_is_gone_and_nobody_writes) {
    lose_peer();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_sender_that_is_writing_when_the_peer_goes) {
    bool was_in_write = false;
    state.in_write = [&] {
        was_in_write = true;
        lose_peer();
        EXPECT_FALSE(owner->has_ended);
        EXPECT_TRUE(state.is_open);
    };
    send("one");
    EXPECT_TRUE(was_in_write);
    const std::size_t before = state.output.size();
    send("two");
    EXPECT_EQ(state.output.size(), before) << "the turn was left to the end of the connection";
    io.run();
    EXPECT_TRUE(owner->has_ended);
    EXPECT_TRUE(owner->near->is_peer_closed());
}

TEST_F(session_test, leaves_the_end_to_a_sender_that_is_writing_when_its_socket_closes_without_linger) {
    state.in_write = [&] {
        owner->near->close(0);
        io.run();
        EXPECT_FALSE(owner->has_ended);
        io.run();
    };
    send("one");
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_borrower) {
    borrow();
    owner->near->close(0);
    io.run();
    EXPECT_FALSE(owner->has_ended);
    EXPECT_TRUE(state.is_open);
    owner->near->end_use(true);
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

TEST_F(session_test, leaves_the_end_to_a_borrower_and_then_to_a_sender) {
    borrow();
    state.in_write = [&] {
        owner->near->close(0);
        io.run();
        owner->near->end_use(true);
        io.run();
        EXPECT_FALSE(owner->has_ended);
        EXPECT_TRUE(state.is_open);
    };
    send("one");
    io.run();
    EXPECT_TRUE(owner->has_ended);
}

}  // namespace
}  // namespace zlink
