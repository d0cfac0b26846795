// PUSH and PULL against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(push, gives_work_to_its_peers_in_turn) {
    pattern_bench bench(socket_type::push);
    fake_peer a = bench.attach(), b = bench.attach();
    for (const char *m : {"1", "2", "3"})
        EXPECT_EQ(bench.send({m}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1"}, {"3"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"2"}}));
}

TEST(push, would_wait_without_a_peer_and_with_full_ones) {
    pattern_bench bench(socket_type::push);
    EXPECT_EQ(bench.send({"1"}), error::again);
    EXPECT_FALSE(bench.subject->has_output());
    fake_peer a = bench.attach(2);
    EXPECT_TRUE(bench.subject->has_output());
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_EQ(bench.send({"2"}), error::none);
    EXPECT_EQ(bench.send({"3"}), error::again);
    EXPECT_FALSE(bench.subject->arm(false, true));
    read_messages(*a.far);
    bench.deliver();
    EXPECT_EQ(bench.send({"3"}), error::none);
}

TEST(push, never_moves_half_a_message_to_another_peer) {
    pattern_bench bench(socket_type::push);
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_EQ(bench.send_frame("1", true), error::none);
    bench.close_far(a);
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(bench.send_frame("2"), error::none);
    EXPECT_EQ(bench.send({"3", "4"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"3", "4"}}));
}

TEST(push, sends_a_large_body_by_reference_when_it_has_an_owner) {
    pattern_bench bench(socket_type::push);
    fake_peer a = bench.attach();
    const std::string body(default_writev_threshold, 'x');
    outgoing frame;
    frame.body = as_bytes(body);
    frame.is_constant = true;
    EXPECT_EQ(bench.subject->send(frame), error::none);
    frame_view view;
    ASSERT_TRUE(a.far->read(view));
    EXPECT_EQ(view.data, frame.body.data());
    frame.is_constant = false;
    EXPECT_EQ(bench.subject->send(frame), error::none);
    ASSERT_TRUE(a.far->read(view));
    EXPECT_NE(view.data, frame.body.data());
    EXPECT_EQ(text_of(view), body);
}

TEST(push, does_not_receive) {
    pattern_bench bench(socket_type::push);
    bench.receive();
    EXPECT_EQ(bench.last_error, error::not_supported);
    EXPECT_FALSE(bench.subject->has_input());
}

TEST(pull, takes_from_its_peers_in_turn) {
    pattern_bench bench(socket_type::pull);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"a1", "a2"});
    write_message(*a.far, {"a3"});
    write_message(*b.far, {"b1"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), (frames{"a1", "a2"}));
    EXPECT_EQ(bench.receive(), frames{"b1"});
    EXPECT_EQ(bench.receive(), frames{"a3"});
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_EQ(bench.last_error, error::again);
}

TEST(pull, reads_what_a_closed_peer_left_before_it_is_done_with_it) {
    pattern_bench bench(socket_type::pull);
    fake_peer a = bench.attach();
    write_message(*a.far, {"a1"});
    bench.close_far(a);
    EXPECT_FALSE(bench.is_done(a));
    EXPECT_EQ(bench.receive(), frames{"a1"});
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(a));
    fake_peer b = bench.attach();
    bench.close_far(b);
    EXPECT_TRUE(bench.is_done(b));
}

TEST(pull, wakes_for_a_message_after_arming) {
    pattern_bench bench(socket_type::pull);
    fake_peer a = bench.attach();
    EXPECT_FALSE(bench.subject->arm(true, false));
    write_message(*a.far, {"a1"});
    bench.deliver();
    EXPECT_TRUE(bench.subject->arm(true, false));
    EXPECT_EQ(bench.receive(), frames{"a1"});
}

TEST(pull, does_not_send) {
    pattern_bench bench(socket_type::pull);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"x"}), error::not_supported);
    EXPECT_FALSE(bench.subject->has_output());
}

}  // namespace zlink::test
