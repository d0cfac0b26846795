// What ends a wait, whoever it is that waits. The test is the clock and the waiter.
#include "socket/one_wait.hpp"

#include <gtest/gtest.h>

#include "lone_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

class one_wait_test : public test::lone_socket {
protected:
    static constexpr int timeout_ms = 5;

    /// From now on something wakes the thread every millisecond, and is nothing that it waits for.
    void wake_in_vain() {
        wait.on_wait = [this](std::span<wait_item> items) {
            clock.at += 1ms;
            items[0].revents = items[0].events;
            return error::none;
        };
    }
    void set(int option, int value) {
        ASSERT_EQ(self->set_option(option, &value, sizeof value), error::none);
    }
    /// A wait of timeout_ms has just been in vain.
    void expect_over_in_time() {
        EXPECT_EQ(wait.waits, timeout_ms);
        EXPECT_EQ(clock.at - began, std::chrono::milliseconds(timeout_ms));
    }

    const time_point began = clock.at;
};

TEST_F(one_wait_test, of_a_receiver_is_over_in_time_whatever_comes_in_vain) {
    self = make_socket(socket_type::pull);
    set(ZMQ_RCVTIMEO, timeout_ms);
    wake_in_vain();
    EXPECT_EQ(receive(), describe(EAGAIN));
    expect_over_in_time();
}

TEST_F(one_wait_test, of_a_sender_is_over_in_time_whatever_comes_in_vain) {
    self = make_socket(socket_type::push);
    set(ZMQ_SNDTIMEO, timeout_ms);
    wake_in_vain();
    EXPECT_EQ(self->send(as_bytes("x"), 0), error::again);
    expect_over_in_time();
}

TEST_F(one_wait_test, for_several_is_over_in_time_whatever_comes_in_vain) {
    self = make_socket(socket_type::dealer);
    const auto other = make_socket(socket_type::pull);
    watched items[] = {{self.get(), -1, ZMQ_POLLIN | ZMQ_POLLOUT, 0}, {other.get(), -1, ZMQ_POLLIN, 0}};
    wake_in_vain();
    std::size_t count = 9;
    EXPECT_EQ(wait_for_any(items, timeout_ms, count), error::none);
    EXPECT_EQ(count, 0u);
    expect_over_in_time();
}

TEST_F(one_wait_test, takes_what_came_at_the_last_moment) {
    self = make_socket(socket_type::pull);
    const pipe_ends ends = make_pipe(pool, {});
    ends.first->set_events(self->inbox());
    self->attach(ends.first, false);
    set(ZMQ_RCVTIMEO, timeout_ms);
    wait.on_wait = [&](std::span<wait_item>) {
        clock.at += 1h;
        EXPECT_EQ(ends.second->write(0, as_bytes("late")), error::none);
        ends.second->publish();
        return error::none;
    };
    EXPECT_EQ(receive(), "late");
    EXPECT_EQ(wait.waits, 1);
}

/// What is posted to the socket raises the descriptor, which is looked at a moment before and not
/// afterwards: the wait has taken it in.
TEST_F(one_wait_test, for_a_socket_and_its_own_descriptor_tells_of_that_when_it_has_taken_in_what_raised_it) {
    self = make_socket(socket_type::pull);
    int descriptor = -1;
    std::size_t size = sizeof descriptor;
    ASSERT_EQ(self->get_option(ZMQ_FD, &descriptor, &size), error::none);
    short ready = 0;
    ASSERT_EQ(self->events(ZMQ_POLLIN, ready, false), error::none);
    const auto post = [&] { EXPECT_TRUE(self->inbox()->post({mailbox::command_kind::readable, nullptr})); };
    wait.on_ask = [&](std::span<wait_item>) {
        post();
        return error::timed_out;
    };
    watched items[] = {{nullptr, descriptor, ZMQ_POLLIN, 0}, {self.get(), -1, ZMQ_POLLIN, 0}};
    std::size_t count = 0;
    EXPECT_EQ(wait_for_any(items, -1, count), error::none);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(items[0].ready, ZMQ_POLLIN);
    EXPECT_EQ(items[1].ready, 0);
    EXPECT_EQ(wait.waits, 0);

    // What a call has taken in before the wait is no news of it.
    wait.on_ask = [](std::span<wait_item>) { return error::timed_out; };
    post();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    EXPECT_EQ(wait_for_any(items, timeout_ms, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait.waits, 1);
}

}  // namespace
}  // namespace zlink
