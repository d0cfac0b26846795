// Tests what ends a wait, whoever it is that waits. The test is the clock and the waiter.
#include "socket/one_wait.hpp"

#include <gtest/gtest.h>

#include "borrowing_socket.hpp"

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

/// Whatever is posted to the socket raises the descriptor, which is looked at a moment before and
/// not afterwards: the wait has taken it in.
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

    // Whatever a call has taken in before the wait is no news of it.
    wait.on_ask = [](std::span<wait_item>) { return error::timed_out; };
    post();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    EXPECT_EQ(wait_for_any(items, timeout_ms, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait.waits, 1);
}

// ---- within a send: a large body has filled its stream, and is sent already ----

class wait_for_room_test : public test::borrowing_socket {
protected:
    wait_for_room_test() {
        make(socket_type::push);
        wait.has_time = true;
        fill_stream();
    }
    /// From now on the stream is full, and a wait is the moment when something comes.
    void fill_stream() {
        peer->on_write = [this] {
            peer->is_stream_full = true;
            return connection_port::written::full;
        };
    }
    /// Something comes in each wait; an item is ready then if `raises` gives one.
    template <class Come>
    void on_each_wait(Come come) {
        wait.on_wait = [=, this](std::span<wait_item> items) {
            EXPECT_EQ(items.size(), 2u) << "the stream, and what wakes the socket";
            EXPECT_EQ(items[0].descriptor, peer->descriptor());
            EXPECT_EQ(items[0].events, POLLOUT);
            for (wait_item &item : items)
                item.revents = 0;
            return come(items);
        };
    }
    error send() { return self->send(as_bytes(body), 0); }

    const std::string body = std::string(2'000'000, 'x');
};

TEST_F(wait_for_room_test, ends_when_the_context_does_and_the_message_is_sent) {
    on_each_wait([this](std::span<wait_item> items) {
        self->stop();
        items.back().revents = POLLIN;
        return error::none;
    });
    EXPECT_EQ(send(), error::none);
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(send(), error::terminated);
    EXPECT_TRUE(peer->end()->has_input());
}

TEST_F(wait_for_room_test, ends_when_the_connection_does) {
    on_each_wait([this](std::span<wait_item> items) {
        EXPECT_FALSE(peer->end()->claim_turn());
        items.back().revents = POLLIN;
        return error::none;
    });
    EXPECT_EQ(send(), error::none);
    EXPECT_EQ(wait.waits, 1);
    EXPECT_TRUE(peer->end()->claim_turn());
}

TEST_F(wait_for_room_test, ends_when_the_pipe_has_gone) {
    on_each_wait([this](std::span<wait_item> items) {
        peer->close();
        items.back().revents = POLLIN;
        return error::none;
    });
    EXPECT_EQ(send(), error::none);
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(self->send(as_bytes(body), ZMQ_DONTWAIT), error::again);
}

TEST_F(wait_for_room_test, goes_on_over_what_else_comes) {
    on_each_wait([&, this](std::span<wait_item> items) {
        if (wait.waits < 5) {
            EXPECT_TRUE(self->inbox()->post({mailbox::command_kind::readable, nullptr}));
            items.back().revents = POLLIN;
        } else {
            items.front().revents = POLLOUT;
            peer->on_write = [this] { return peer->take_all(); };
        }
        return error::none;
    });
    EXPECT_EQ(send(), error::none);
    EXPECT_EQ(wait.waits, 5);
    EXPECT_FALSE(peer->end()->has_input()) << "it went out";
}

TEST_F(wait_for_room_test, ends_where_the_thread_is_cancelled_and_the_message_is_sent) {
    struct end_of_thread {};
    const std::string sent = body;
    on_each_wait([](std::span<wait_item>) { return error::timed_out; });
    wait.on_sleep_of_caller = [] { throw end_of_thread(); };
    std::string memory = body;
    EXPECT_THROW((void)self->send(as_bytes(memory), 0), end_of_thread);
    memory.assign(memory.size(), '-');
    frame_view frame;
    ASSERT_TRUE(peer->end()->take_turn());
    ASSERT_TRUE(peer->end()->read(frame));
    EXPECT_EQ(as_text(frame.body()), sent);
}

TEST_F(wait_for_room_test, is_no_wait_of_the_socket_and_leaves_what_is_known_of_those) {
    make(socket_type::dealer);
    borrow();
    peer->is_stream_full = true;
    fill_stream();
    on_each_wait([](std::span<wait_item>) { return error::timed_out; });
    EXPECT_EQ(send(), error::none);
    EXPECT_EQ(wait.waits, 1);
    EXPECT_FALSE(peer->owns_reading());
    EXPECT_EQ(peer->calls, 0);
    EXPECT_EQ(peer->reads, 0);
}

// ---- one step after the other ----

TEST_F(one_wait_test, may_be_left_after_it_has_armed_and_gone_on_with_when_something_is_ready) {
    self = make_socket(socket_type::pull);
    const pipe_ends ends = make_pipe(pool, {});
    ends.first->set_events(self->inbox());
    self->attach(ends.first, false);
    watched item{self.get(), -1, ZMQ_POLLIN, 0};
    one_wait round({&item, 1});

    ASSERT_FALSE(round.look(time_point::max()));
    const one_wait::arming armed = round.arm();
    ASSERT_EQ(armed.failure, error::none);
    ASSERT_TRUE(armed.may_sleep);
    ASSERT_EQ(round.listed().size(), 1u);
    const wakeup *level = nullptr;
    ASSERT_EQ(self->wait_level(level), error::none);
    EXPECT_EQ(round.listed()[0].descriptor, level->descriptor());
    // Here the caller leaves, and whoever waits for it finds the level up.
    EXPECT_EQ(ends.second->write(0, as_bytes("came")), error::none);
    ends.second->publish();
    round.listed()[0].revents = POLLIN;
    round.note_slept(true);
    round.disarm();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "came");

    EXPECT_EQ(ends.second->write(0, as_bytes("is there")), error::none);
    ends.second->publish();
    EXPECT_TRUE(round.look(time_point::max()));
    EXPECT_EQ(round.over_at_once(time_point::max()), error::none);
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "is there");
    EXPECT_EQ(wait.waits, 0);
}

}  // namespace
}  // namespace zlink
