// REQ against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(req, sends_a_delimiter_in_front_and_takes_it_off_the_reply) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"q1", "q2"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"", "q1", "q2"}}));
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"", "r1", "r2"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), (frames{"r1", "r2"}));
}

TEST(req, alternates_strictly_between_sending_and_receiving) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_EQ(bench.last_error, error::wrong_state);
    EXPECT_EQ(bench.send_frame("q1", true), error::none);
    bench.receive();
    EXPECT_EQ(bench.last_error, error::wrong_state);
    EXPECT_EQ(bench.send_frame("q2"), error::none);
    EXPECT_EQ(bench.send({"q3"}), error::wrong_state);
    EXPECT_FALSE(bench.subject->has_output());
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_EQ(bench.last_error, error::again);
    write_message(*a.far, {"", "r"});
    EXPECT_EQ(bench.receive(), frames{"r"});
    EXPECT_TRUE(bench.subject->has_output());
    EXPECT_EQ(bench.send({"q3"}), error::none);
}

TEST(req, would_wait_without_a_peer) {
    pattern_bench bench(socket_type::req);
    EXPECT_EQ(bench.send({"q"}), error::again);
    EXPECT_FALSE(bench.subject->has_output());
    EXPECT_FALSE(bench.subject->arm(true, true));
}

TEST(req, asks_its_peers_in_turn_and_listens_to_the_one_it_asked) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    write_message(*b.far, {"", "not asked"});
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"", "reply"});
    EXPECT_EQ(bench.receive(), frames{"reply"});
    EXPECT_EQ(bench.send({"2"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"", "2"}}));
}

TEST(req, drops_replies_that_came_before_the_request) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    write_message(*a.far, {"", "stale"});
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"", "fresh"});
    EXPECT_EQ(bench.receive(), frames{"fresh"});
}

TEST(req, skips_replies_without_a_delimiter) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    write_message(*a.far, {"x"});
    write_message(*a.far, {""});
    write_message(*a.far, {"x", "", "y"});
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"", "", "y"});
    EXPECT_EQ(bench.receive(), (frames{"", "y"}));
}

TEST(req, matches_replies_by_request_id_when_asked_to) {
    pattern_bench bench(socket_type::req);
    bench.options.req_correlate = bench.options.req_relaxed = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_EQ(bench.send({"2"}), error::none);
    const std::vector<frames> asked = read_messages(*a.far);
    ASSERT_EQ(asked.size(), 2u);
    ASSERT_EQ(asked[0].size(), 3u);
    EXPECT_EQ(asked[0][0].size(), 4u);
    EXPECT_NE(asked[0][0], asked[1][0]);
    write_message(*a.far, {asked[0][0], "", "to 1"});
    write_message(*a.far, {"", "no id"});
    write_message(*a.far, {asked[1][0]});
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {asked[1][0], "", "to 2"});
    EXPECT_EQ(bench.receive(), frames{"to 2"});
}

TEST(req, forgets_a_request_when_relaxed) {
    pattern_bench bench(socket_type::req);
    bench.options.req_relaxed = true;
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_TRUE(bench.subject->has_output());
    EXPECT_EQ(bench.send({"2"}), error::none);
    write_message(*a.far, {"", "to 1"});
    write_message(*b.far, {"", "to 2"});
    EXPECT_EQ(bench.receive(), frames{"to 2"});
}

TEST(req, drops_the_rest_of_a_reply_when_it_asks_again) {
    pattern_bench bench(socket_type::req);
    bench.options.req_relaxed = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    write_message(*a.far, {"", "r1", "r2"});
    frame_view view;
    EXPECT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(bench.send({"2"}), error::none);
    write_message(*a.far, {"", "r3"});
    EXPECT_EQ(bench.receive(), frames{"r3"});
}

TEST(req, takes_the_reply_from_the_next_connection_when_the_peer_asked_is_gone) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"1"}), error::none);
    bench.close_far(a);
    EXPECT_TRUE(bench.is_done(a));
    fake_peer again = bench.attach();
    write_message(*again.far, {"", "r"});
    EXPECT_EQ(bench.receive(), frames{"r"});
}

TEST(req, arms_only_what_its_state_allows) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_TRUE(bench.subject->arm(true, true));
    EXPECT_FALSE(bench.subject->arm(true, false));
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_FALSE(bench.subject->arm(true, true));
    write_message(*a.far, {"", "r"});
    bench.deliver();
    EXPECT_TRUE(bench.subject->arm(true, true));
}

TEST(req, probes_each_new_peer_when_asked_to) {
    pattern_bench bench(socket_type::req);
    bench.options.probe_router = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{""}}));
}

TEST(req, drops_a_bounded_number_of_stale_replies_at_once_and_the_rest_later) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    for (int i = 0; i < 20'000; ++i)
        write_message(*a.far, {"", "stale"});
    int calls = 0;
    while (bench.send({"q"}) == error::again) {
        ASSERT_LT(++calls, 10);
        EXPECT_TRUE(bench.goes_on);
        EXPECT_TRUE(bench.subject->arm(false, true));  // nobody sleeps
    }
    EXPECT_GE(calls, 2);
    EXPECT_EQ(bench.receive(), std::nullopt);
    write_message(*a.far, {"", "r"});
    bench.deliver();
    EXPECT_EQ(bench.receive(), frames{"r"});
}

TEST(req, passes_over_a_bounded_number_of_frames_at_once_and_the_rest_later) {
    pattern_bench bench(socket_type::req);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"q"}), error::none);
    write_message(*a.far, frames(20'000, "no delimiter"));
    for (int i = 0; i < 20'000; ++i)
        write_message(*a.far, {"no delimiter"});
    write_message(*a.far, {"", "r", "more"});
    int calls = 0;
    for (; !bench.subject->has_input(); ++calls) {
        ASSERT_LT(calls, 10);
        EXPECT_TRUE(bench.goes_on);
        EXPECT_TRUE(bench.subject->arm(true, false));
    }
    EXPECT_GE(calls, 2);
    EXPECT_EQ(bench.receive(), (frames{"r", "more"}));
}

TEST(req, goes_on_dropping_the_rest_of_a_reply_when_it_asks_again) {
    pattern_bench bench(socket_type::req);
    bench.options.req_relaxed = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"q1"}), error::none);
    frames reply(20'000, "r1");
    reply[0] = "";
    write_message(*a.far, reply);
    frame_view view;
    ASSERT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(bench.send({"q2"}), error::again);
    EXPECT_EQ(bench.receive(), std::nullopt);  // what is left of it is no reply
    while (bench.send({"q2"}) == error::again) {
    }
    write_message(*a.far, {"", "r2"});
    bench.deliver();
    EXPECT_EQ(bench.receive(), frames{"r2"});
}

}  // namespace zlink::test
