// Tests what a socket does with connections that are leased to it while it waits.
#include "socket/socket_wait.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <poll.h>

#include "borrowing_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

class socket_wait_test : public test::borrowing_socket {};

TEST_F(socket_wait_test, gives_back_before_it_sleeps_what_was_called_back_while_it_armed) {
    make(socket_type::dealer);
    borrow();
    // The lease is in use, and the ring is heard when the socket arms its pipes.
    peer->on_next_look = [this] { peer->recall(); };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u) << "sleeps on what the I/O thread waits for";
        EXPECT_TRUE(peer->owns_reading());
        peer->publish({"after"});
        return error::none;
    };
    EXPECT_EQ(receive(), "after");
    EXPECT_EQ(peer->calls, 1);
}

TEST_F(socket_wait_test, gives_that_back_in_a_wait_for_several_too) {
    make(socket_type::dealer);
    borrow();
    peer->on_next_look = [this] { peer->recall(); };
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        EXPECT_TRUE(peer->owns_reading());
        return error::timed_out;
    };
    wait_in_vain();
}

TEST_F(socket_wait_test, a_wait_ends_in_time_though_there_is_more_of_what_is_not_wanted_now) {
    owe_a_reply();
    // The reply is owed: "another" must wait, and the connection holds back a third.
    peer->has_more = true;
    wait_in_vain();
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(self->send(as_bytes("reply"), 0), error::none);
    EXPECT_EQ(receive(), "another");
}

TEST_F(socket_wait_test, leaves_to_others_what_a_stream_may_hold_behind_what_is_not_wanted_now) {
    owe_a_reply();
    // Its descriptor does not show what there is more, perhaps a PING.
    peer->has_more = true;
    wait.on_wait = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        EXPECT_TRUE(peer->owns_reading());
        return error::timed_out;
    };
    wait_in_vain();
    EXPECT_EQ(wait.waits, 1);
    EXPECT_EQ(peer->calls, 1);
}

TEST_F(socket_wait_test, does_not_sleep_while_a_stream_may_hold_more_of_a_message) {
    make(socket_type::dealer);
    borrow();
    peer->has_more = true;
    peer->on_read = [this] {
        if (peer->reads == 3) {
            peer->has_more = false;
            peer->publish({"y"});
        }
        return true;
    };
    EXPECT_EQ(receive(), "y");
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(socket_wait_test, does_not_sleep_when_a_look_has_left_something_in_a_stream) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [](std::span<wait_item> items) {
        items.back().revents = POLLIN;
        return error::none;
    };
    peer->on_read = [this] {
        peer->publish({"x"});
        return true;
    };
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(receive(), "x");
    // Whoever did not have to wait reads without asking.
    const int waits = wait.waits;
    peer->reads = 0;
    peer->on_read = [this] {
        peer->has_more = peer->reads == 1;
        if (peer->reads == 2)
            peer->publish({"y"});
        return true;
    };
    EXPECT_EQ(receive(), "y");
    EXPECT_EQ(wait.waits, waits);
}

TEST_F(socket_wait_test, a_receive_that_does_not_wait_reads_what_is_lent) {
    make(socket_type::dealer);
    borrow();
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    peer->on_read = [this] {
        peer->publish({"there"});
        return true;
    };
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "there");
    EXPECT_EQ(wait.waits, 0);
    EXPECT_FALSE(peer->owns_reading());
}

TEST_F(socket_wait_test, a_signal_ends_the_wait_and_keeps_the_lease) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [](std::span<wait_item>) { return error::interrupted; };
    EXPECT_EQ(receive(), describe(EINTR));
    EXPECT_FALSE(peer->owns_reading());
    peer->recall();
    EXPECT_TRUE(peer->owns_reading()) << "it is not in use";
}

TEST_F(socket_wait_test, the_end_of_the_context_ends_the_use) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [this](std::span<wait_item>) {
        self->stop();
        return error::none;
    };
    EXPECT_EQ(receive(), describe(ETERM));
    peer->recall();
    EXPECT_TRUE(peer->owns_reading());
}

TEST_F(socket_wait_test, writes_out_what_a_stream_left_before_it_waits_for_an_answer) {
    make(socket_type::dealer);
    constexpr int burst = 200;
    for (int i = 0; i < burst; ++i)
        ASSERT_EQ(self->send(as_bytes("x"), 0), error::none);
    peer->writes = 0;
    int writes_before_wait = 0;
    wait.on_wait = [&](std::span<wait_item>) {
        writes_before_wait = peer->writes;
        return error::timed_out;
    };
    peer->on_write = [this] { return peer->take_all(); };
    EXPECT_EQ(receive(), describe(EAGAIN));
    EXPECT_EQ(writes_before_wait, 1);
    EXPECT_EQ(self->send(as_bytes("next"), 0), error::none);
    EXPECT_EQ(peer->writes, 2) << "no stream any more: it goes out at once";
}

TEST_F(socket_wait_test, writes_out_what_is_left_behind_a_large_body_too) {
    make(socket_type::dealer);
    peer->on_write = [this] { return peer->take_all(); };
    const std::string large(20000, 'x');
    ASSERT_EQ(self->send(as_bytes(large.c_str()), 0), error::none);
    peer->on_write = [] { return connection_port::written::refused; };
    ASSERT_EQ(self->send(as_bytes("trailer"), 0), error::none);
    peer->writes = 0;
    EXPECT_EQ(receive(ZMQ_DONTWAIT), describe(EAGAIN));
    EXPECT_EQ(peer->writes, 1);
}

TEST_F(socket_wait_test, a_receive_that_does_not_wait_asks_first_which_of_many_have_something) {
    make(socket_type::dealer);
    attach_others(borrower::few_pipes);
    // All take and bring something, so that all are leased.
    wait.on_wait = [this](std::span<wait_item> items) {
        uses = items.size() - 1;
        peer->publish({"x"});
        for (const auto &other : others)
            other->publish({"x"});
        return error::none;
    };
    for (std::size_t i = 0; i < 400 && uses <= borrower::few_pipes; ++i) {
        EXPECT_EQ(self->send(as_bytes("for each in turn"), 0), error::none);
        EXPECT_EQ(receive(), "x");
    }
    ASSERT_EQ(uses, borrower::few_pipes + 1);
    while (receive(ZMQ_DONTWAIT) == "x") {
    }
    peer->reads = wait.asks = 0;
    test::lender &ready = *others[2];
    ready.on_read = [&] { return ready.publish({"came"}), true; };
    for (const auto &other : others)
        other->reads = 0;
    wait.on_ask = [&](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), uses);
        for (wait_item &item : items)
            item.revents = 0;
        const auto at = std::find_if(items.begin(), items.end(),
                                     [&](const wait_item &item) { return item.opening == ready.opening(); });
        EXPECT_NE(at, items.end());
        at->revents = POLLIN;
        return error::none;
    };
    EXPECT_EQ(receive(ZMQ_DONTWAIT), "came");
    EXPECT_EQ(wait.asks, 1);
    EXPECT_EQ(ready.reads, 1);
    EXPECT_EQ(peer->reads, 0);
}

TEST_F(socket_wait_test, a_socket_may_be_listed_twice) {
    for (const short first : {0, ZMQ_POLLIN}) {
        make(socket_type::dealer);
        borrow();
        watched items[] = {{self.get(), -1, first, 0}, {self.get(), -1, ZMQ_POLLIN, 0}};
        wait.on_wait = [this](std::span<wait_item> listed) {
            EXPECT_EQ(listed.size(), 3u) << "two levels and the connection, once";
            listed.back().revents = POLLIN;
            peer->on_read = [this] { return peer->publish({"came"}), true; };
            return error::none;
        };
        std::size_t count = 0;
        EXPECT_EQ(wait_for_any(items, 5, count), error::none);
        EXPECT_EQ(items[1].ready, ZMQ_POLLIN);
        EXPECT_EQ(wait.waits, 1);
        self.reset();
        uses = 0;
    }
}

TEST_F(socket_wait_test, what_comes_to_a_socket_that_is_listed_twice_is_seen_by_the_first) {
    mark = 1;
    make(socket_type::dealer);
    borrow();
    const auto other = attach();
    EXPECT_EQ(self->send(as_bytes("fills it"), 0), error::none);
    EXPECT_EQ(self->send(as_bytes("fills it"), 0), error::none);
    // Once the first item is armed, and the second one is being prepared.
    peer->looks = 0;
    std::function<void()> on_look = [&] {
        if (peer->looks == 3)
            test::write_message(*other, {"came"});
        peer->on_next_look = on_look;
    };
    peer->on_next_look = on_look;
    watched items[] = {{self.get(), -1, ZMQ_POLLIN, 0}, {self.get(), -1, ZMQ_POLLOUT, 0}};
    std::size_t count = 0;
    EXPECT_EQ(wait_for_any(items, 5, count), error::none);
    EXPECT_EQ(items[0].ready, ZMQ_POLLIN);
    EXPECT_EQ(wait.waits, 0);
    peer->on_next_look = nullptr;
}

}  // namespace
}  // namespace zlink
