// ROUTER against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(router, puts_the_announced_id_in_front) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("alice"), b = bench.attach_named("bob");
    write_message(*a.far, {"1", "2"});
    write_message(*b.far, {"3"});
    EXPECT_EQ(bench.receive(), (frames{"alice", "1", "2"}));
    EXPECT_EQ(bench.receive(), (frames{"bob", "3"}));
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_EQ(bench.last_error, error::again);
}

TEST(router, counts_what_it_has_read_ahead_of_a_peer_that_is_detached) {
    for (const bool has_hello : {true, false})
        for (const bool has_given_out_the_id : {false, true}) {
            SCOPED_TRACE(std::to_string(has_hello) + std::to_string(has_given_out_the_id));
            pattern_bench bench(socket_type::router);
            fake_peer a = has_hello ? bench.attach_named("alice") : bench.attach();
            write_message(*a.far, {"one"});
            bench.deliver();
            ASSERT_TRUE(bench.subject->has_input());
            frame_view id;
            if (has_given_out_the_id) {
                ASSERT_EQ(bench.subject->receive(id), error::none);
            }
            bench.subject->detach(*a.near);
            EXPECT_EQ(a.near->slot.read_in_vain.load(), 1u);
            EXPECT_EQ(a.near->take_lost().unread, 0u);
        }
}

TEST(router, counts_a_message_of_a_peer_that_is_detached_once_where_parts_of_it_were_not_read) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("alice");
    write_message(*a.far, {"one", "two"});
    bench.deliver();
    ASSERT_TRUE(bench.subject->has_input());
    bench.subject->detach(*a.near);
    EXPECT_EQ(a.near->slot.read_in_vain.load(), 0u);
    EXPECT_EQ(a.near->take_lost().unread, 1u);
}

TEST(router, sends_to_the_peer_named_in_front) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("alice"), b = bench.attach_named("bob");
    EXPECT_EQ(bench.send({"bob", "1", "2"}), error::none);
    EXPECT_EQ(bench.send({"alice", "3"}), error::none);
    EXPECT_EQ(bench.send({"bob", "4"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"3"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1", "2"}, {"4"}}));
}

TEST(router, makes_an_id_of_five_octets_for_a_peer_that_announces_none) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named(""), b = bench.attach_named(std::string_view("\0bad", 4));
    write_message(*a.far, {"1"});
    write_message(*b.far, {"2"});
    const auto first = bench.receive(), second = bench.receive();
    ASSERT_TRUE(first && second);
    EXPECT_EQ((*first)[0].size(), 5u);
    EXPECT_EQ((*first)[0][0], '\0');
    EXPECT_EQ((*second)[0].size(), 5u);
    EXPECT_NE((*first)[0], (*second)[0]);
    EXPECT_EQ(bench.send({(*second)[0], "reply"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"reply"}}));
}

TEST(router, knows_a_peer_as_soon_as_its_hello_comes) {
    pattern_bench bench(socket_type::router);
    bench.options.router_mandatory = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"alice", "1"}), error::host_unreachable);
    write_command(*a.far, in_band::hello, "alice");
    bench.deliver();
    EXPECT_TRUE(bench.subject->knows_peer("alice"));
    EXPECT_EQ(bench.send({"alice", "1"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}}));
}

TEST(router, takes_a_message_without_a_hello_under_a_generated_id) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"1", "2"});
    write_message(*a.far, {"3"});
    write_message(*b.far, {"4"});
    bench.deliver();
    EXPECT_TRUE(bench.subject->has_input());
    std::vector<frames> got;
    while (auto m = bench.receive())
        got.push_back(*m);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0].size(), 3u);
    EXPECT_EQ(got[0][2], "2");
    EXPECT_EQ(bench.send({got[0][0], "r"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"r"}}));
}

TEST(router, reads_a_peer_that_said_hello_and_left) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach();
    write_command(*a.far, in_band::hello, "alice");
    write_message(*a.far, {"1"});
    bench.network.events->readable.clear();  // only the end is heard of
    bench.close_far(a);
    EXPECT_EQ(bench.receive(), (frames{"alice", "1"}));
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(a));
}

TEST(router, drops_what_has_no_peer_or_no_room) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("a", 1);
    EXPECT_EQ(bench.send({"nobody", "1", "2"}), error::none);
    EXPECT_EQ(bench.send({"a"}), error::none);  // an address without a message
    EXPECT_EQ(bench.send({"a", "3"}), error::none);
    EXPECT_EQ(bench.send({"a", "4"}), error::none);
    EXPECT_TRUE(bench.subject->has_output());
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"3"}}));
}

TEST(router, says_so_when_mandatory) {
    pattern_bench bench(socket_type::router);
    bench.options.router_mandatory = true;
    EXPECT_FALSE(bench.subject->has_output());
    EXPECT_EQ(bench.send({"a", "1"}), error::host_unreachable);
    fake_peer a = bench.attach_named("a", 1), b = bench.attach_named("b", 1);
    EXPECT_EQ(bench.send({"a", "1"}), error::none);
    EXPECT_EQ(bench.send({"a", "2"}), error::again);
    EXPECT_FALSE(bench.subject->arm(false, true));  // the sender waits for this peer, not for any
    read_messages(*a.far);
    EXPECT_EQ(bench.network.events->writable, std::vector<pipe_end *>{a.near.get()});
    bench.deliver();
    EXPECT_EQ(bench.send({"a", "2"}), error::none);
    EXPECT_TRUE(bench.subject->has_output());
    EXPECT_EQ(bench.send({"b", "2"}), error::none);
    EXPECT_FALSE(bench.subject->has_output());
    EXPECT_FALSE(bench.subject->arm(false, true));
    read_messages(*b.far);
    EXPECT_EQ(bench.network.events->writable, std::vector<pipe_end *>{b.near.get()});
    EXPECT_EQ(bench.send({"a", "3"}), error::again);
    bench.close_far(a);
    EXPECT_EQ(bench.send({"a", "3"}), error::host_unreachable);
}

TEST(router, drops_the_rest_of_a_message_to_a_peer_that_vanished) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("a"), b = bench.attach_named("b");
    EXPECT_EQ(bench.send_frame("a", true), error::none);
    EXPECT_EQ(bench.send_frame("1", true), error::none);
    bench.close_far(a);
    EXPECT_EQ(bench.send_frame("2", true), error::none);
    EXPECT_TRUE(bench.drops.empty());  // it is no message before it is whole
    EXPECT_EQ(bench.send_frame("3"), error::none);
    EXPECT_EQ(bench.drops, std::vector{counter::dropped_peer_gone});
    EXPECT_EQ(bench.send({"b", "4"}), error::none);
    EXPECT_EQ(bench.drops.size(), 1u);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"4"}}));
}

TEST(router, refuses_an_id_that_is_taken) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("x"), b = bench.attach_named("x");
    EXPECT_TRUE(bench.is_done(b));
    EXPECT_EQ(bench.send({"x", "1"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}}));
    bench.close_far(a);
    fake_peer c = bench.attach_named("x");
    EXPECT_FALSE(bench.is_done(c));
}

TEST(router, hands_an_id_over_when_asked_to) {
    pattern_bench bench(socket_type::router);
    bench.options.router_handover = true;
    fake_peer a = bench.attach_named("x"), b = bench.attach_named("x");
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(bench.send({"x", "1"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1"}}));
    write_message(*b.far, {"2"});
    EXPECT_EQ(bench.receive(), (frames{"x", "2"}));
}

TEST(router, finishes_a_message_before_it_lets_go_of_a_pipe_that_lost_its_id) {
    pattern_bench bench(socket_type::router);
    bench.options.router_handover = true;
    fake_peer a = bench.attach_named("x");
    write_message(*a.far, {"1", "2"});
    write_message(*a.far, {"never read"});
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);
    fake_peer b = bench.attach_named("x");
    EXPECT_FALSE(bench.is_done(a));
    write_message(*b.far, {"3"});
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(text_of(view), "1");
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(text_of(view), "2");
    EXPECT_EQ(bench.receive(), (frames{"x", "3"}));
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(router, lets_go_of_each_of_two_pipes_that_lost_their_ids) {
    pattern_bench bench(socket_type::router);
    bench.options.router_handover = true;
    fake_peer a = bench.attach_named("x"), b = bench.attach_named("y");
    write_message(*a.far, {"1"});
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);
    fake_peer a2 = bench.attach_named("x");
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(text_of(view), "1");
    write_message(*b.far, {"2"});
    bench.deliver();
    fake_peer b2 = bench.attach_named("y");
    EXPECT_TRUE(bench.is_done(a)) << "read to the end of its message";
    EXPECT_EQ(bench.receive(), (frames{"y", "2"}));
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(b));
}

/// A poll may have seen it: through the pattern, or past it.
TEST(router, hands_out_a_message_that_was_there_when_its_peer_lost_the_id) {
    for (const bool is_asked : {true, false}) {
        pattern_bench bench(socket_type::router);
        bench.options.router_handover = true;
        fake_peer a = bench.attach_named("x");
        write_message(*a.far, {"1", "2"});
        write_message(*a.far, {"never read"});
        if (is_asked) {
            ASSERT_TRUE(bench.subject->has_input());
        }
        fake_peer b = bench.attach_named("x");
        write_message(*b.far, {"3"});
        EXPECT_FALSE(bench.is_done(a));
        EXPECT_EQ(bench.receive(), (frames{"x", "1", "2"}));
        EXPECT_EQ(bench.receive(), (frames{"x", "3"}));
        EXPECT_TRUE(bench.is_done(a));
        EXPECT_EQ(bench.receive(), std::nullopt);
        EXPECT_EQ(bench.send({"x", "4"}), error::none);
        EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"4"}}));
    }
}

TEST(router, uses_an_id_given_by_the_application) {
    pattern_bench bench(socket_type::router);
    const auto given = [](fake_peer &p) { p.near->slot.routing_id = "mine"; };
    fake_peer a = bench.attach_prepared(given), b = bench.attach_prepared(given);
    EXPECT_TRUE(bench.is_done(b));
    write_command(*a.far, in_band::hello, "announced");
    EXPECT_EQ(bench.send({"mine", "1"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}}));
    write_message(*a.far, {"2"});
    EXPECT_EQ(bench.receive(), (frames{"mine", "2"}));
}

TEST(router, tells_of_peers_that_come_and_go) {
    pattern_bench bench(socket_type::router);
    bench.options.router_notify = 3;
    fake_peer a = bench.attach_named("a");
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    write_message(*a.far, {"1"});
    bench.close_far(a);
    EXPECT_EQ(bench.receive(), (frames{"a", "1"}));
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(router, says_nothing_of_a_peer_that_came_and_went_unseen) {
    pattern_bench bench(socket_type::router);
    bench.options.router_notify = 3;
    fake_peer a = bench.attach_named("a");
    bench.close_far(a);
    EXPECT_FALSE(bench.subject->has_input());
}

TEST(router, tells_of_the_others_when_one_came_and_went_unseen) {
    pattern_bench bench(socket_type::router);
    bench.options.router_notify = 3;
    fake_peer a = bench.attach_named("a"), b = bench.attach_named("b"), c = bench.attach_named("c");
    bench.close_far(b);
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    bench.close_far(a);
    fake_peer again = bench.attach_named("a");
    bench.close_far(again);
    EXPECT_EQ(bench.receive(), (frames{"c", ""}));
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));  // went
    EXPECT_EQ(bench.receive(), std::nullopt);
    fake_peer last = bench.attach_named("a");
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(router, tells_of_each_connection_of_a_pipe_that_outlives_them) {
    pattern_bench bench(socket_type::router);
    bench.options.router_notify = 3;
    fake_peer a = bench.attach_named("a");
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    write_command(*a.far, in_band::gone);
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    write_command(*a.far, in_band::hello, "a");
    EXPECT_EQ(bench.receive(), (frames{"a", ""}));
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(router, probes_each_new_peer_when_asked_to) {
    pattern_bench bench(socket_type::router);
    bench.options.probe_router = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{""}}));
}

TEST(router, survives_a_disconnect_inside_a_message) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("a"), b = bench.attach_named("b");
    write_message(*a.far, {"1", "2"});
    write_message(*b.far, {"3"});
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);
    bench.subject->detach(*a.near);
    EXPECT_EQ(bench.receive(), (frames{"b", "3"}));
    EXPECT_EQ(bench.send({"a", "x"}), error::none);
}

TEST(router, wakes_for_input_after_arming) {
    pattern_bench bench(socket_type::router);
    fake_peer a = bench.attach_named("a");
    EXPECT_FALSE(bench.subject->arm(true, false));
    write_message(*a.far, {"1"});
    bench.deliver();
    EXPECT_EQ(bench.receive(), (frames{"a", "1"}));
}

}  // namespace zlink::test
