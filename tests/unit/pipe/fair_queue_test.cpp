// The fair queue: turns, whole messages, commands on the side, ends, arming.
#include <gtest/gtest.h>

#include "fake_peers.hpp"
#include "pipe/fair_queue.hpp"

namespace zlink::test {

namespace {

struct reader {
    void on_command(pipe_end &, const frame_view &view) { commands.push_back(text_of(view)); }
    void on_end(pipe_end &pipe) { ended.push_back(&pipe); }

    /// Every frame there is, in order.
    frames read_all() {
        frames all;
        frame_view view;
        while (queue.read(view, *this))
            all.push_back(text_of(view));
        return all;
    }
    fake_peer attach() {
        fake_peer peer = network.connect();
        queue.attach(*peer.near);
        return peer;
    }

    fake_network network;
    fair_queue queue;
    frames commands;
    std::vector<pipe_end *> ended;
};

}  // namespace

TEST(fair_queue, reads_nothing_without_pipes) {
    reader r;
    EXPECT_TRUE(r.read_all().empty());
    EXPECT_FALSE(r.queue.has_input(r));
}

TEST(fair_queue, takes_one_message_from_each_in_turn) {
    reader r;
    fake_peer a = r.attach(), b = r.attach(), c = r.attach();
    for (const char *n : {"1", "2", "3"}) {
        write_message(*a.far, {std::string("a") + n});
        write_message(*b.far, {std::string("b") + n});
        write_message(*c.far, {std::string("c") + n});
    }
    EXPECT_EQ(r.read_all(), (frames{"a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"}));
}

TEST(fair_queue, keeps_the_frames_of_a_message_together) {
    reader r;
    fake_peer a = r.attach(), b = r.attach();
    write_message(*a.far, {"a1", "a2", "a3"});
    write_message(*b.far, {"b1", "b2"});
    write_message(*a.far, {"a4"});
    EXPECT_EQ(r.read_all(), (frames{"a1", "a2", "a3", "b1", "b2", "a4"}));
}

TEST(fair_queue, finds_a_pipe_that_fills_again_without_being_told) {
    reader r;
    fake_peer a = r.attach(), b = r.attach();
    EXPECT_TRUE(r.read_all().empty());
    write_message(*b.far, {"b1"});
    EXPECT_EQ(r.read_all(), frames{"b1"});
}

TEST(fair_queue, does_not_let_a_busy_pipe_starve_one_that_was_empty) {
    reader r;
    fake_peer busy = r.attach(), other = r.attach();
    for (int i = 0; i < 1000; ++i)
        write_message(*busy.far, {"busy"});
    frame_view view;
    ASSERT_TRUE(r.queue.read(view, r));
    ASSERT_TRUE(r.queue.read(view, r));  // the other one is known to be empty by now
    write_message(*other.far, {"other"});
    int waited = 0;
    while (r.queue.read(view, r) && text_of(view) != "other")
        ++waited;
    EXPECT_LE(waited, 64);
}

TEST(fair_queue, hands_commands_to_the_owner_and_goes_on) {
    reader r;
    fake_peer a = r.attach();
    write_command(*a.far, in_band::hello, "me");
    write_message(*a.far, {"a1"});
    write_command(*a.far, in_band::gone);
    EXPECT_EQ(r.read_all(), frames{"a1"});
    EXPECT_EQ(r.commands, (frames{std::string("\2me"), std::string("\3")}));
}

TEST(fair_queue, does_not_take_a_command_for_input) {
    reader r;
    fake_peer a = r.attach();
    write_command(*a.far, in_band::hello);
    EXPECT_FALSE(r.queue.has_input(r));
    write_message(*a.far, {"a1", "a2"});
    EXPECT_TRUE(r.queue.has_input(r));
    EXPECT_FALSE(r.queue.is_in_message());
    EXPECT_TRUE(r.queue.is_reading(*a.near));
    EXPECT_EQ(r.read_all(), (frames{"a1", "a2"}));
}

TEST(fair_queue, reads_a_closed_pipe_to_its_end_and_reports_it_once) {
    reader r;
    fake_peer a = r.attach(), b = r.attach();
    write_message(*a.far, {"a1", "a2"});
    a.far->close();
    EXPECT_FALSE(r.queue.end(*a.near, r));
    EXPECT_EQ(r.read_all(), (frames{"a1", "a2"}));
    EXPECT_EQ(r.ended, std::vector<pipe_end *>{a.near.get()});
    EXPECT_FALSE(r.queue.has(*a.near));
    b.far->close();
    EXPECT_TRUE(r.queue.end(*b.near, r));
    EXPECT_TRUE(r.read_all().empty());
    EXPECT_EQ(r.ended.size(), 1u);
}

TEST(fair_queue, lets_a_closed_pipe_go_that_holds_commands_only) {
    reader r;
    fake_peer a = r.attach(), b = r.attach();
    write_command(*a.far, in_band::hello, "me");
    write_command(*a.far, in_band::gone);
    a.far->close();
    EXPECT_TRUE(r.queue.end(*a.near, r));
    EXPECT_FALSE(r.queue.has(*a.near));
    EXPECT_EQ(r.commands, (frames{std::string("\2me"), std::string("\3")}));
    write_command(*b.far, in_band::hello);
    write_message(*b.far, {"b1"});
    b.far->close();
    EXPECT_FALSE(r.queue.end(*b.near, r));
    EXPECT_EQ(r.read_all(), frames{"b1"});
    EXPECT_EQ(r.ended, std::vector<pipe_end *>{b.near.get()});
}

TEST(fair_queue, keeps_a_closed_pipe_while_a_frame_of_it_is_held_back) {
    reader r;
    fake_peer a = r.attach();
    write_message(*a.far, {"a1"});
    EXPECT_TRUE(r.queue.has_input(r));
    a.far->close();
    EXPECT_FALSE(r.queue.end(*a.near, r));
    EXPECT_EQ(r.read_all(), frames{"a1"});
    EXPECT_EQ(r.ended.size(), 1u);
}

TEST(fair_queue, cuts_a_message_whose_pipe_is_detached) {
    reader r;
    fake_peer a = r.attach(), b = r.attach();
    write_message(*a.far, {"a1", "a2"});
    write_message(*b.far, {"b1"});
    frame_view view;
    ASSERT_TRUE(r.queue.read(view, r));
    EXPECT_TRUE(r.queue.is_in_message());
    r.queue.detach(*a.near);
    EXPECT_FALSE(r.queue.is_in_message());
    EXPECT_EQ(r.read_all(), frames{"b1"});
}

TEST(fair_queue, calls_back_after_arming_and_only_then) {
    reader r;
    fake_peer a = r.attach();
    EXPECT_FALSE(r.queue.has_input(r));
    r.queue.arm();
    heavy_fence();
    EXPECT_FALSE(r.queue.settle());
    EXPECT_TRUE(r.network.events->readable.empty());
    write_message(*a.far, {"a1"});
    EXPECT_EQ(r.network.events->readable, std::vector<pipe_end *>{a.near.get()});
    EXPECT_TRUE(r.read_all().empty());  // armed pipes are not looked at
    r.queue.activate(*a.near);
    EXPECT_EQ(r.read_all(), frames{"a1"});
}

TEST(fair_queue, sees_what_came_between_arming_and_the_second_look) {
    reader r;
    fake_peer a = r.attach();
    EXPECT_FALSE(r.queue.has_input(r));
    write_message(*a.far, {"a1"});
    r.queue.arm();
    heavy_fence();
    EXPECT_TRUE(r.queue.settle());
    EXPECT_EQ(r.read_all(), frames{"a1"});
}

TEST(fair_queue, arms_by_itself_when_very_many_pipes_are_empty) {
    reader r;
    std::vector<fake_peer> idle;
    for (int i = 0; i < 600; ++i)
        idle.push_back(r.attach());
    EXPECT_TRUE(r.read_all().empty());
    for (fake_peer &p : idle)
        write_message(*p.far, {"x"});
    EXPECT_FALSE(r.network.events->readable.empty());
    for (pipe_end *p : r.network.events->readable)
        r.queue.activate(*p);
    EXPECT_EQ(r.read_all().size(), 600u);
}

TEST(fair_queue, survives_pipes_that_come_and_go_in_any_order) {
    reader r;
    std::vector<fake_peer> peers;
    std::uint32_t seed = 12345;
    const auto pick = [&](std::size_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
    std::size_t written = 0, seen = 0, lost = 0;
    for (int step = 0; step < 20000; ++step) {
        switch (pick(5)) {
        case 0:
            peers.push_back(r.attach());
            break;
        case 1:
            if (!peers.empty()) {
                const std::size_t at = pick(peers.size());
                r.queue.detach(*peers[at].near);
                lost += read_messages(*peers[at].near).size();
                peers.erase(peers.begin() + static_cast<long>(at));
            }
            break;
        case 2:
            seen += r.read_all().size();
            r.queue.arm();
            r.queue.settle();
            break;
        default:
            if (!peers.empty()) {
                write_message(*peers[pick(peers.size())].far, {"m"});
                ++written;
            }
        }
        for (pipe_end *p : std::exchange(r.network.events->readable, {}))
            r.queue.activate(*p);
    }
    seen += r.read_all().size();
    EXPECT_EQ(seen + lost, written);
}

}  // namespace zlink::test
