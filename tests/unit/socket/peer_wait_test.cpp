// What a socket does before it sleeps while its one peer is a socket of the same process. The test is the peer.
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
        const pipe_ends ends = make_pipe(pool, {.first_to_second_hwm = 2});
        ends.first->set_events(self->inbox());
        self->attach(ends.first, false, true);
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

    pipe_end_ptr peer;
};

TEST_F(peer_wait_test, a_receiver_takes_what_comes_while_it_looks) {
    make(socket_type::pull);
    wait.on_look = [this] { test::write_message(*peer, {"sent"}); };
    EXPECT_EQ(receive(), "sent");
    EXPECT_EQ(wait.waits, 0);
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

TEST_F(peer_wait_test, who_waits_for_room_that_is_there_sleeps_until_its_time) {
    make(socket_type::req);
    expect_polls_for_room_in_vain();
}

}  // namespace
}  // namespace zlink
