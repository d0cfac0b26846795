// The load balancer: turns, full pipes, messages that lose their pipe, arming.
#include <gtest/gtest.h>

#include "fake_peers.hpp"
#include "pipe/load_balancer.hpp"

namespace zlink::test {

namespace {

struct writer {
    bool write(std::string_view body, bool more = false) {
        if (balancer.is_dropping()) {
            balancer.drop(more);
            return true;
        }
        pipe_end *pipe = balancer.select();
        if (!pipe || failed(pipe->write(more ? frame_flag::more : 0, as_bytes(body))))
            return false;
        balancer.commit(*pipe, more);
        return true;
    }
    fake_peer attach(std::uint64_t hwm = 0) {
        fake_peer peer = network.connect(hwm);
        balancer.attach(*peer.near);
        return peer;
    }

    fake_network network;
    load_balancer balancer;
};

}  // namespace

TEST(load_balancer, has_no_room_without_pipes) {
    writer w;
    EXPECT_FALSE(w.write("x"));
    EXPECT_FALSE(w.balancer.has_output());
}

TEST(load_balancer, sends_a_message_to_each_in_turn) {
    writer w;
    fake_peer a = w.attach(), b = w.attach();
    for (const char *m : {"1", "2", "3", "4"})
        EXPECT_TRUE(w.write(m));
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}, {"3"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"2"}, {"4"}}));
}

TEST(load_balancer, keeps_a_message_on_one_pipe_and_shows_it_whole) {
    writer w;
    fake_peer a = w.attach(), b = w.attach();
    EXPECT_TRUE(w.write("1", true));
    EXPECT_TRUE(w.write("2", true));
    EXPECT_FALSE(a.far->has_input());
    EXPECT_TRUE(w.write("3"));
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1", "2", "3"}}));
    EXPECT_FALSE(b.far->has_input());
}

TEST(load_balancer, passes_over_full_pipes) {
    writer w;
    fake_peer a = w.attach(1), b = w.attach(3);
    for (const char *m : {"1", "2", "3", "4"})
        EXPECT_TRUE(w.write(m));
    EXPECT_FALSE(w.write("5"));
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"2"}, {"3"}, {"4"}}));
    EXPECT_TRUE(w.write("5"));
}

TEST(load_balancer, finishes_a_message_on_a_pipe_at_its_mark) {
    writer w;
    fake_peer a = w.attach(1);
    EXPECT_TRUE(w.write("1", true));
    EXPECT_TRUE(w.balancer.has_output());
    EXPECT_TRUE(w.write("2"));
    EXPECT_FALSE(w.balancer.has_output());
}

TEST(load_balancer, drops_the_rest_of_a_message_whose_pipe_went) {
    writer w;
    fake_peer a = w.attach(), b = w.attach();
    EXPECT_TRUE(w.write("1", true));
    w.balancer.detach(*a.near);
    EXPECT_FALSE(a.near->has_unpublished());
    EXPECT_TRUE(w.write("2", true));
    EXPECT_TRUE(w.write("3"));
    EXPECT_TRUE(w.write("4"));
    EXPECT_TRUE(read_messages(*a.far).empty());
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"4"}}));
}

TEST(load_balancer, stays_on_its_pipe_while_others_come_and_go) {
    writer w;
    fake_peer a = w.attach(), b = w.attach(), c = w.attach();
    EXPECT_TRUE(w.write("0"));        // a
    EXPECT_TRUE(w.write("1", true));  // b
    w.balancer.detach(*a.near);
    fake_peer d = w.attach();
    w.balancer.detach(*c.near);
    EXPECT_TRUE(w.write("2"));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1", "2"}}));
    EXPECT_TRUE(w.write("3"));
    EXPECT_EQ(read_messages(*d.far), (std::vector<frames>{{"3"}}));
}

TEST(load_balancer, calls_back_when_an_armed_pipe_has_room) {
    writer w;
    fake_peer a = w.attach(1);
    EXPECT_TRUE(w.write("1"));
    EXPECT_FALSE(w.balancer.has_output());
    w.balancer.arm();
    heavy_fence();
    EXPECT_FALSE(w.balancer.settle());
    read_messages(*a.far);
    EXPECT_EQ(w.network.events->writable, std::vector<pipe_end *>{a.near.get()});
    w.balancer.activate(*a.near);
    EXPECT_TRUE(w.write("2"));
}

}  // namespace zlink::test
