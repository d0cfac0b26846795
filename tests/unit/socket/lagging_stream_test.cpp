// Tests what a sender does whose stream is full, or whose peer lags behind it.
#include <gtest/gtest.h>

#include <poll.h>

#include "borrowing_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

class lagging_stream_test : public test::borrowing_socket {};

TEST_F(lagging_stream_test, a_sender_sleeps_on_a_stream_that_stays_full) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
        items.back().revents = POLLOUT;
        peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 1);
}

TEST_F(lagging_stream_test, a_sender_does_not_wait_for_room_before_a_stream_has_the_input_that_it_waits_for) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->is_for_input = true;
    peer->on_read = [this] {
        peer->is_for_input = false;
        return true;
    };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        EXPECT_EQ(items.back().events, wait.waits == 1 ? POLLIN : POLLIN | POLLOUT);
        items.back().revents = wait.waits == 1 ? POLLIN : POLLOUT;
        if (wait.waits == 2)
            peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 2);
}

TEST_F(lagging_stream_test,
       a_sender_does_not_look_for_room_again_and_again_while_the_io_thread_has_the_turn) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 2u);
        switch (wait.waits) {
        case 1:
            EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
            items.back().revents = POLLOUT;
            peer->take_turn();
            break;
        case 2:
            EXPECT_EQ(items.back().events, POLLIN) << "there is room already";
            peer->give_turn();
            items.front().revents = POLLIN;
            break;
        default:
            EXPECT_EQ(wait.waits, 3);
            EXPECT_EQ(items.back().events, POLLIN | POLLOUT);
            items.back().revents = POLLOUT;
            peer->on_write = [this] { return peer->take_all(); };
        }
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 3);
}

TEST_F(lagging_stream_test,
       a_sender_does_not_wait_for_room_in_a_stream_that_is_busy_and_writes_when_it_has_read) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->is_stream_full = false;
    peer->is_stream_busy = true;
    peer->on_read = [this] {
        peer->has_more = !peer->has_more;
        return true;
    };
    wait.on_wait = [this](std::span<wait_item> items) {
        if (wait.waits > 9)
            return error::terminated;
        EXPECT_EQ(items.back().events, POLLIN);
        items.back().revents = POLLIN;
        peer->on_write = [this] { return peer->take_all(); };
        return error::none;
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 1);
}

TEST_F(lagging_stream_test, a_sender_of_large_bodies_waits_a_moment_for_a_full_stream_and_no_longer) {
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none);
    EXPECT_EQ(wait.waits, 0) << "what is under way is little yet";
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none) << "there is no mark";
    EXPECT_GT(wait.waits, 0);
    EXPECT_LT(wait.waits, 10) << "each in vain makes the next less likely";
}

TEST_F(lagging_stream_test, who_waits_for_room_that_is_there_sleeps_until_its_time) {
    make(socket_type::req);
    borrow({"", "answer"}, "question");
    wait.has_time = true;
    expect_polls_for_room_in_vain();
}

TEST_F(lagging_stream_test, a_signal_during_the_moment_of_a_large_body_ends_a_send_that_has_no_room) {
    mark = 8;
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    wait.on_wait = [](std::span<wait_item>) { return error::interrupted; };
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none) << "there is room";
    EXPECT_GT(wait.waits, 0);
    EXPECT_EQ(self->send(as_bytes(body), 0), error::interrupted);
}

TEST_F(lagging_stream_test, a_sender_that_keeps_a_connection_to_write_also_reads_it) {
    make(socket_type::dealer);
    borrow_full_stream();
    const std::string body(256 * 1024, 'x');
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(self->send(as_bytes(body), 0), error::none);
    EXPECT_GE(peer->reads, 10);
}

}  // namespace
}  // namespace zlink
