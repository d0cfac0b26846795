// The proxy: both ways, whole messages, capture, and the commands of the control socket.
#include "context/proxy.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "core/platform.hpp"
#include "lone_socket.hpp"
#include "no_endpoints.hpp"
#include "socket/options.hpp"

namespace zlink {
namespace {

class proxy_test : public ::testing::Test {
protected:
    using frames = std::vector<std::string>;

    std::unique_ptr<socket> make(socket_type type) {
        settings options = default_settings(type);
        options.receive_timeout_ms = 5000;  // a fault must not hang the test
        return socket::make(options, {endpoints, *blocking, platform::steady_clock(), *random, pool});
    }
    void join(socket &a, socket &b, std::uint64_t hwm = 0) {
        const pipe_ends ends = make_pipe(
            pool, {.first_to_second_hwm = hwm, .second_to_first_hwm = hwm, .second = end_kind::socket});
        ends.first->set_events(a.inbox());
        ends.second->set_events(b.inbox());
        EXPECT_TRUE(b.inbox()->post({mailbox::command_kind::attach, ends.second, false}));
        a.attach(ends.first, true);
    }
    static void send(socket &s, const frames &message) {
        for (std::size_t i = 0; i < message.size(); ++i)
            EXPECT_EQ(s.send(as_bytes(message[i]), i + 1 < message.size() ? ZMQ_SNDMORE : 0), error::none);
    }
    static frames receive(socket &s) {
        frames message;
        frame_view part;
        do {
            if (const error e = s.receive(part, 0); failed(e))
                return {describe(to_errno(e))};
            message.emplace_back(as_text(part.body()));
        } while (part.has_more());
        return message;
    }

    test::no_endpoints endpoints;
    std::unique_ptr<waiter> blocking = platform::make_waiter(platform::steady_clock());
    std::unique_ptr<random_source> random = platform::make_random_source();
    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
};

/// Client, proxy and worker, all of them DEALER sockets, and a controller.
class running_proxy_test : public proxy_test {
protected:
    void start(socket_type controller_type, socket_type control_type) {
        controller = make(controller_type);
        control = make(control_type);
        join(*client, *front);
        join(*worker, *back);
        join(*copies, *capture);
        join(*controller, *control);
        thread = std::thread([this] { result = run_proxy({*front, *back, capture.get(), control.get()}); });
    }
    void finish() {
        send(*controller, {"TERMINATE"});
        thread.join();
        EXPECT_EQ(result, error::none);
    }

    std::unique_ptr<socket> client = make(socket_type::dealer);
    std::unique_ptr<socket> front = make(socket_type::dealer);
    std::unique_ptr<socket> back = make(socket_type::dealer);
    std::unique_ptr<socket> worker = make(socket_type::dealer);
    std::unique_ptr<socket> capture = make(socket_type::push);
    std::unique_ptr<socket> copies = make(socket_type::pull);
    std::unique_ptr<socket> controller;
    std::unique_ptr<socket> control;
    std::thread thread;
    error result = error::invalid;
};

TEST_F(running_proxy_test, passes_whole_messages_both_ways_and_copies_them) {
    start(socket_type::pair, socket_type::pair);
    const frames request = {"", "a request", std::string(50000, 'x')};
    send(*client, request);
    EXPECT_EQ(receive(*worker), request);
    EXPECT_EQ(receive(*copies), request);
    send(*worker, {"an answer"});
    EXPECT_EQ(receive(*client), frames{"an answer"});
    EXPECT_EQ(receive(*copies), frames{"an answer"});
    finish();
}

TEST_F(running_proxy_test, counts_messages_and_octets_of_both_sides) {
    start(socket_type::req, socket_type::rep);
    send(*client, {"12", "345"});
    EXPECT_EQ(receive(*worker), (frames{"12", "345"}));
    send(*worker, {"6"});
    EXPECT_EQ(receive(*client), frames{"6"});

    send(*controller, {"STATISTICS"});
    std::vector<std::uint64_t> numbers;
    for (const std::string &part : receive(*controller)) {
        ASSERT_EQ(part.size(), sizeof(std::uint64_t));
        numbers.push_back(0);
        std::memcpy(&numbers.back(), part.data(), part.size());
    }
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 5, 1, 1, 1, 1, 1, 5}));

    send(*controller, {"rubbish"});
    EXPECT_EQ(receive(*controller), frames{""});
    finish();
    EXPECT_EQ(receive(*controller), frames{""});
}

TEST_F(running_proxy_test, holds_messages_back_while_it_is_paused) {
    start(socket_type::req, socket_type::rep);
    send(*controller, {"PAUSE"});
    EXPECT_EQ(receive(*controller), frames{""});
    send(*client, {"held"});
    // Commands are obeyed in order and messages come after them: this answer proves that the
    // message was left alone.
    send(*controller, {"STATISTICS"});
    EXPECT_EQ(receive(*controller).size(), 8u);
    frame_view nothing;
    EXPECT_EQ(worker->receive(nothing, ZMQ_DONTWAIT), error::again);
    send(*controller, {"RESUME"});
    EXPECT_EQ(receive(*controller), frames{""});
    EXPECT_EQ(receive(*worker), frames{"held"});
    finish();
}

class lone_proxy_test : public test::lone_socket {};

TEST_F(lone_proxy_test, leaves_a_slow_side_behind_as_long_as_that_has_room) {
    constexpr int count = 64;
    const std::string body(256 * 1024, 'x');
    const auto front = make_socket(socket_type::pull);
    const auto back = make_socket(socket_type::push);
    const pipe_ends in = make_pipe(pool, {});
    const pipe_ends out = make_pipe(pool, {});
    in.first->set_events(front->inbox());
    out.first->set_events(back->inbox());
    front->attach(in.first, false);
    back->attach(out.first, false);
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(in.second->write(0, as_bytes(body)), error::none);
        in.second->publish();
    }
    wait.has_time = true;
    wait.on_look = [] { FAIL() << "looks how far the slow side is"; };
    int passed = 0;
    wait.on_wait = [&](std::span<wait_item>) {
        for (frame_view frame; out.second->read(frame);)
            ++passed;
        front->stop();
        return error::none;
    };
    EXPECT_EQ(run_proxy({*front, *back}), error::terminated);
    EXPECT_EQ(passed, count);
}

TEST_F(proxy_test, takes_no_more_than_the_other_side_has_room_for) {
    const auto source = make(socket_type::push);
    const auto front = make(socket_type::pull);
    const auto back = make(socket_type::push);
    const auto sink = make(socket_type::pull);
    join(*source, *front);
    join(*back, *sink, 2);
    for (int i = 0; i < 100; ++i)
        send(*source, {"part of", std::to_string(i)});
    error result = error::none;
    std::thread proxy([&] { result = run_proxy({*front, *back}); });
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(receive(*sink), (frames{"part of", std::to_string(i)}));
    front->stop();
    proxy.join();
    EXPECT_EQ(result, error::terminated);
}

TEST_F(proxy_test, works_between_a_socket_and_itself) {
    const auto echo = make(socket_type::dealer);
    const auto peer = make(socket_type::dealer);
    join(*peer, *echo);
    error result = error::none;
    std::thread proxy([&] { result = run_proxy({*echo, *echo}); });
    for (const std::size_t size : {1u, 100u, 100000u}) {
        send(*peer, {"echo", std::string(size, 'x')});
        EXPECT_EQ(receive(*peer), (frames{"echo", std::string(size, 'x')}));
    }
    echo->stop();
    proxy.join();
    EXPECT_EQ(result, error::terminated);
}

TEST_F(proxy_test, ends_with_the_context_while_it_is_paused) {
    const auto one = make(socket_type::dealer);
    const auto other = make(socket_type::dealer);
    const auto controller = make(socket_type::pair);
    const auto control = make(socket_type::pair);
    join(*controller, *control);
    send(*controller, {"PAUSE"});
    error result = error::none;
    std::thread proxy([&] { result = run_proxy({*one, *other, nullptr, control.get()}); });
    control->stop();
    proxy.join();
    EXPECT_EQ(result, error::terminated);
}

}  // namespace
}  // namespace zlink
