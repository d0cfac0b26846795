// Tests what a socket that has a lease looks for before it sleeps.
#include <gtest/gtest.h>

#include <poll.h>
#include <utility>

#include "borrowing_socket.hpp"

namespace zlink {
namespace {

using namespace std::chrono_literals;

class socket_spins_test : public test::borrowing_socket {};

TEST_F(socket_spins_test, a_sender_tries_a_full_stream_again_before_it_sleeps) {
    mark = 2;
    make(socket_type::dealer);
    borrow_full_stream();
    peer->on_write = [this] { return peer->writes < 10 ? connection_port::written::full : peer->take_all(); };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(peer->writes, 10);
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(socket_spins_test, looks_for_room_for_a_large_body_only_where_the_sender_may_wait) {
    const std::string body(100 * 1024, 'x');
    for (const auto &[flags, timeout_ms, looks] : {std::tuple{0, -1, true},
                                                   {ZMQ_DONTWAIT, -1, false},
                                                   {0, 0, false},
                                                   {0, 10, false},
                                                   {0, 1000, true}}) {
        SCOPED_TRACE(::testing::Message() << flags << ' ' << timeout_ms);
        make(socket_type::dealer);
        EXPECT_EQ(self->set_option(ZMQ_SNDTIMEO, &timeout_ms, sizeof timeout_ms), error::none);
        bool has_looked = false;
        wait.has_time = true;
        wait.on_look = [&] { has_looked = true; };
        peer->on_write = [this] {
            peer->is_stream_full = true;
            clock.at += std::chrono::milliseconds(1);  // the look ends
            return connection_port::written::full;
        };
        EXPECT_EQ(self->send(as_bytes(body), flags), error::none);
        EXPECT_GT(peer->writes, 0);
        EXPECT_EQ(has_looked, looks);
        wait.on_look = nullptr;
    }
}

TEST_F(socket_spins_test, a_receiver_looks_for_the_rest_of_a_large_frame_before_it_sleeps) {
    make(socket_type::dealer);
    borrow();
    wait.has_time = true;
    peer->is_large_next = true;
    peer->on_read = [this] {
        if (peer->reads == 10)
            peer->publish({"large"});
        return true;
    };
    EXPECT_EQ(receive(), "large");
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(socket_spins_test, a_receiver_that_is_wanted_back_does_not_look_again) {
    make(socket_type::dealer);
    borrow();
    wait.has_time = true;
    peer->is_large_next = true;
    peer->on_read = [this] {
        peer->recall();
        return true;
    };
    wait.on_wait = [this](std::span<wait_item>) {
        EXPECT_TRUE(peer->owns_reading());
        peer->publish({"from the I/O thread"});
        return error::none;
    };
    EXPECT_EQ(receive(), "from the I/O thread");
    EXPECT_EQ(peer->reads, 1);
}

TEST_F(socket_spins_test, who_did_not_have_to_wait_reads_next_time_without_asking) {
    make(socket_type::dealer);
    borrow();
    wait.on_wait = [this](std::span<wait_item> items) {
        items.back().revents = POLLIN;
        return error::none;
    };
    peer->on_read = [this] {
        peer->publish({"was there"});
        return true;
    };
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(receive(), "was there");
    EXPECT_LE(wait.waits, 1);
    EXPECT_EQ(peer->reads, 5);
}

TEST_F(socket_spins_test, who_had_to_wait_waits_again) {
    make(socket_type::dealer);
    borrow();
    bool is_there = false;
    wait.on_wait = [&](std::span<wait_item> items) {
        clock.at += std::chrono::microseconds(20);
        is_there = true;
        items.back().revents = POLLIN;
        return error::none;
    };
    int in_vain = 0;
    peer->on_read = [&] {
        if (std::exchange(is_there, false))
            peer->publish({"came"});
        else
            ++in_vain;
        return true;
    };
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(receive(), "came");
    EXPECT_LE(in_vain, 1) << "after the waits of the test's own making, which took no time";
}

TEST_F(socket_spins_test, a_thread_that_is_woken_for_little_looks_before_it_sleeps) {
    make(socket_type::dealer);
    be_woken_for_little();
    wait.on_ask = [this](std::span<wait_item> items) {
        EXPECT_EQ(items.size(), 1u);
        if (wait.asks % 5 != 0)
            return error::timed_out;
        items.back().revents = POLLIN;
        peer->on_read = [this] {
            peer->publish({"seen"});
            return true;
        };
        return error::none;
    };
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(receive(), "seen");
    EXPECT_EQ(wait.asks, 100);
    EXPECT_EQ(peer->reads, 20) << "reads what is there, and no more";
    EXPECT_EQ(wait.waits, 0) << "slept";
}

TEST_F(socket_spins_test, a_look_in_vain_ends_in_sleep_and_makes_the_next_less_likely) {
    make(socket_type::dealer);
    be_woken_for_little();
    wait.on_ask = [this](std::span<wait_item>) {
        clock.at += longest_look_for_answer / 6;
        return error::timed_out;
    };
    for (int i = 0; i < 64; ++i)
        EXPECT_EQ(receive(), "came");
    EXPECT_EQ(wait.waits, 64);
    EXPECT_EQ(wait.asks, 6 * 6) << "looks at the 1st, 3rd, 7th, 15th, 31st and 63rd";
    EXPECT_EQ(peer->reads, 64);
}

TEST_F(socket_spins_test, a_thread_that_gets_much_each_time_sleeps_at_once) {
    make(socket_type::dealer);
    be_woken_for_little();
    int parts = 0;
    wait.on_wait = [&](std::span<wait_item> items) {
        clock.at += std::chrono::microseconds(50);
        items.back().revents = POLLIN;
        parts = 0;
        peer->on_read = [&] {
            if (++parts <= 4)
                peer->publish({"part"});
            peer->has_more = parts < 4;
            return true;
        };
        return error::none;
    };
    for (int i = 0; i < 8; ++i)
        EXPECT_EQ(receive(), "part");
    wait.asks = 0;
    for (int i = 0; i < 40; ++i)
        EXPECT_EQ(receive(), "part");
    EXPECT_EQ(wait.asks, 0);
}

TEST_F(socket_spins_test, a_thread_that_waits_for_several_sockets_does_not_look) {
    make(socket_type::dealer);
    be_woken_for_little();
    const auto other = make_socket(socket_type::dealer);
    wait.on_wait = [](std::span<wait_item>) { return error::timed_out; };
    peer->reads = 0;
    watched items[] = {{self.get(), -1, ZMQ_POLLIN, 0}, {other.get(), -1, ZMQ_POLLIN, 0}};
    std::size_t count = 9;
    EXPECT_EQ(wait_for_any(items, 5, count), error::none);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(wait.asks, 0);
}

}  // namespace
}  // namespace zlink
