// Tests what a socket does before it sleeps while its one peer is a socket of the same process. The
// test is the peer.
#include <gtest/gtest.h>

#include "fake_peers.hpp"
#include "lone_socket.hpp"

namespace zlink {
namespace {

class peer_wait_test : public test::lone_socket {
protected:
    void make(socket_type type) {
        self = make_socket(type);
        peer = attach();
        wait.has_time = true;
    }
    pipe_end_ptr attach() {
        const pipe_ends ends =
            make_pipe(pool, {.first_to_second_hwm = mark,
                             .second = is_inproc ? end_kind::socket : end_kind::connection});
        ends.first->set_events(self->inbox());
        self->attach(ends.first, false);
        return ends.second;
    }
    void expect_receive_sleeps_once() {
        wait.on_wait = [this](std::span<wait_item>) {
            test::write_message(*peer, {"sent"});
            return error::none;
        };
        const int before = wait.waits;
        EXPECT_EQ(receive(), "sent");
        EXPECT_EQ(wait.waits, before + 1);
    }

    /// Sends messages until the sender looks whether its peer lags, or there are 64 MiB. Returns
    /// octets.
    std::size_t send_until_it_looks(std::size_t size, int flags = 0, int parts = 1) {
        const std::string body(size, 'x');
        return send_until_it_looks(size, parts, [&](bool more) {
            return self->send(as_bytes(body), flags | (more ? ZMQ_SNDMORE : 0));
        });
    }
    /// Does the same with bodies of the sender's own.
    std::size_t move_until_it_looks(std::size_t size) {
        return send_until_it_looks(size, 1, [&](bool) {
            message moved;
            EXPECT_EQ(moved.init_size(size), error::none);
            return self->send(moved, 0);
        });
    }
    template <typename Send>
    std::size_t send_until_it_looks(std::size_t size, int parts, const Send &send) {
        constexpr std::size_t most = 64 << 20;
        bool has_looked = false;
        wait.on_look = [&] { has_looked = true; };
        std::size_t sent = 0;
        while (sent < most && !has_looked) {
            for (int part = 1; part <= parts; ++part, sent += size)
                EXPECT_EQ(send(part < parts), error::none);
        }
        wait.on_look = nullptr;
        return sent;
    }

    std::uint64_t mark = 2;
    bool is_inproc = true;
    pipe_end_ptr peer;
};

TEST_F(peer_wait_test, a_receiver_takes_what_comes_while_it_looks) {
    make(socket_type::pull);
    wait.on_look = [this] { test::write_message(*peer, {"sent"}); };
    EXPECT_EQ(receive(), "sent");
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(peer_wait_test,
       a_receiver_whose_look_was_dear_sleeps_at_once_for_a_good_while_though_it_found_something) {
    using namespace std::chrono_literals;
    constexpr int asks_of_a_spin = 30;
    make(socket_type::pull);
    int asks = 0;
    wait.on_look = [&] {
        clock.on_ask = [&] {
            if (++asks == 1)
                test::write_message(*peer, {"sent"});
            else if (asks == 2)
                clock.at += 5ms;  // strangers have had the processor
        };
    };
    EXPECT_EQ(receive(), "sent");
    EXPECT_EQ(wait.waits, 0);
    for (const duration later : {0ms, 70ms}) {
        clock.at += later;
        clock.on_ask = [&] { ++asks; };
        asks = 0;
        expect_receive_sleeps_once();
        EXPECT_LT(asks, asks_of_a_spin);
    }
    clock.at += 10ms;
    asks = 0;
    expect_receive_sleeps_once();
    EXPECT_GT(asks, asks_of_a_spin);
}

TEST_F(peer_wait_test, a_sender_uses_room_that_comes_while_it_looks) {
    make(socket_type::push);
    wait.on_look = [this] {
        for (frame_view frame; peer->read(frame);) {
        }
    };
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(self->send(as_bytes("x"), 0), error::none);
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(peer_wait_test, commands_end_the_look) {
    make(socket_type::pull);
    wait.on_look = [this] { self->stop(); };
    EXPECT_EQ(receive(), describe(ETERM));
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(peer_wait_test, sleeps_when_it_looked_in_vain) {
    make(socket_type::pull);
    for (int i = 0; i < 10; ++i)
        expect_receive_sleeps_once();
}

TEST_F(peer_wait_test, does_not_look_for_one_of_two_peers) {
    make(socket_type::pull);
    const pipe_end_ptr other = attach();
    wait.on_look = [] { FAIL() << "looks"; };
    expect_receive_sleeps_once();
}

TEST_F(peer_wait_test, a_sender_without_a_mark_looks_for_its_peer_when_it_is_far_ahead) {
    mark = 0;
    for (const std::size_t size : {64, 256, 600, 8192, 16000}) {
        SCOPED_TRACE(size);
        make(socket_type::push);
        const std::size_t ahead = send_until_it_looks(size);
        // On the wire.
        EXPECT_GE(ahead / size * (size + frame_header_size(size)), std::size_t{16} << 20);
        EXPECT_LE(ahead, std::size_t{18} << 20);
        // The peer reads nothing, and the messages are taken all the same.
        for (int i = 0; i < 10; ++i)
            (void)send_until_it_looks(size);
        frame_view frame;
        for (std::size_t taken = 0; taken < ahead; taken += frame.size)
            ASSERT_TRUE(peer->read(frame));
    }
    EXPECT_EQ(wait.waits, 0);
}

TEST_F(peer_wait_test, a_sender_of_several_frames_looks_between_messages) {
    mark = 0;
    make(socket_type::push);
    const std::size_t ahead = send_until_it_looks(4096, 0, 2);
    EXPECT_GE(ahead, std::size_t{16} << 20);
    EXPECT_LE(ahead, std::size_t{18} << 20);
    EXPECT_EQ(ahead % 8192, 0u);
}

TEST_F(peer_wait_test, a_sender_of_moved_bodies_looks_where_they_are_copied_in_the_end) {
    mark = 0;
    for (const std::size_t size : {12 << 10, 16 << 10, 256 << 10}) {
        SCOPED_TRACE(size);
        const std::size_t most = size < pipe_end::counted_in_octets_from ? 4 << 20 : 1 << 20;
        is_inproc = false;
        make(socket_type::push);
        const std::size_t ahead = move_until_it_looks(size);
        EXPECT_GT(ahead, most);
        EXPECT_LE(ahead, most + std::max<std::size_t>(2 * size, 1 << 20));
        is_inproc = true;
        make(socket_type::push);
        EXPECT_GE(move_until_it_looks(size), std::size_t{64} << 20);
    }
}

TEST_F(peer_wait_test, a_sender_that_must_not_wait_does_not_look_how_far_ahead_it_is) {
    mark = 0;
    make(socket_type::push);
    EXPECT_EQ(send_until_it_looks(8192, ZMQ_DONTWAIT), std::size_t{64} << 20);
}

TEST_F(peer_wait_test, a_sender_whose_peer_keeps_step_does_not_look) {
    mark = 0;
    make(socket_type::push);
    const std::string body(8192, 'x');
    wait.on_look = [] { FAIL() << "looks"; };
    for (int i = 0; i < 8192; ++i) {
        ASSERT_EQ(self->send(as_bytes(body), 0), error::none);
        frame_view frame;
        ASSERT_TRUE(peer->read(frame));
    }
    wait.on_look = nullptr;
}

TEST_F(peer_wait_test, who_waits_for_room_that_is_there_sleeps_until_its_time) {
    make(socket_type::req);
    expect_polls_for_room_in_vain();
}

}  // namespace
}  // namespace zlink
