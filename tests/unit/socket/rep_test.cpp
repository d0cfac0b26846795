// REP against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(rep, returns_the_envelope_with_the_reply) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*b.far, {"id 1", std::string(300, 'i'), "", "q1", "q2"});
    EXPECT_EQ(bench.receive(), (frames{"q1", "q2"}));
    EXPECT_EQ(bench.send({"r1", "r2"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"id 1", std::string(300, 'i'), "", "r1", "r2"}}));
    EXPECT_TRUE(read_messages(*a.far).empty());
}

TEST(rep, alternates_strictly_between_receiving_and_sending) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"x"}), error::wrong_state);
    EXPECT_FALSE(bench.subject->has_output());
    write_message(*a.far, {"", "q1", "q2"});
    write_message(*a.far, {"", "q3"});
    frame_view view;
    EXPECT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(bench.send({"x"}), error::wrong_state);
    EXPECT_EQ(bench.subject->receive(view), error::none);
    EXPECT_EQ(bench.subject->receive(view), error::wrong_state);
    EXPECT_FALSE(bench.subject->has_input());
    EXPECT_FALSE(bench.subject->arm(true, false));
    EXPECT_TRUE(bench.subject->arm(true, true));
    EXPECT_EQ(bench.send_frame("r1", true), error::none);
    EXPECT_EQ(bench.subject->receive(view), error::wrong_state);
    EXPECT_EQ(bench.send_frame("r2"), error::none);
    EXPECT_EQ(bench.receive(), frames{"q3"});
}

TEST(rep, drops_requests_without_a_delimiter) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    write_message(*a.far, {""});
    write_message(*a.far, {"x", "y"});
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"x", "y", "z"});
    write_message(*a.far, {"", "q"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), frames{"q"});
    EXPECT_EQ(bench.send({"r"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"", "r"}}));
}

TEST(rep, drops_the_reply_when_the_peer_is_gone_or_full) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach(1);
    write_message(*a.far, {"", "q"});
    EXPECT_EQ(bench.receive(), frames{"q"});
    bench.close_far(a);
    EXPECT_TRUE(bench.is_done(a));
    EXPECT_EQ(bench.send({"r"}), error::none);
    EXPECT_EQ(bench.drops, std::vector{counter::dropped_peer_gone});

    for (const char *q : {"1", "2"}) {
        write_message(*b.far, {"", q});
        EXPECT_EQ(bench.receive(), frames{q});
        EXPECT_EQ(bench.send({q}), error::none);
    }
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"", "1"}}));
    EXPECT_EQ(b.near->dropped(), 1u);
    EXPECT_EQ(bench.drops.size(), 1u);
}

TEST(rep, serves_what_a_closed_peer_asked_and_replies_to_nobody) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    write_message(*a.far, {"", "q"});
    bench.close_far(a);
    EXPECT_EQ(bench.receive(), frames{"q"});
    EXPECT_EQ(bench.send({"r"}), error::none);
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(a));
}

TEST(rep, drops_half_a_reply_with_its_peer) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"", "q"});
    EXPECT_EQ(bench.receive(), frames{"q"});
    EXPECT_EQ(bench.send_frame("r1", true), error::none);
    bench.subject->detach(*a.near);
    EXPECT_TRUE(bench.drops.empty());  // it is no reply before it is whole
    EXPECT_EQ(bench.send_frame("r2"), error::none);
    EXPECT_EQ(bench.drops, std::vector{counter::dropped_peer_gone});
    write_message(*b.far, {"", "q"});
    EXPECT_EQ(bench.receive(), frames{"q"});
    EXPECT_TRUE(read_messages(*a.far).empty());
}

TEST(rep, forgets_a_request_that_a_disconnect_cut) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"", "q1", "q2"});
    write_message(*b.far, {"", "q3"});
    frame_view view;
    EXPECT_EQ(bench.subject->receive(view), error::none);
    bench.subject->detach(*a.near);
    EXPECT_EQ(bench.receive(), frames{"q3"});
    EXPECT_EQ(bench.send({"r"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"", "r"}}));
}

TEST(rep, drops_a_bounded_number_of_requests_at_once_and_the_rest_later) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    for (int i = 0; i < 50'000; ++i)
        write_message(*a.far, {"no delimiter"});
    write_message(*a.far, {"", "q"});
    int calls = 0;
    for (; !bench.subject->has_input(); ++calls) {
        ASSERT_LT(calls, 10);
        EXPECT_TRUE(bench.goes_on);
        EXPECT_TRUE(bench.subject->arm(true, false));  // nobody sleeps
    }
    EXPECT_GE(calls, 3);
    EXPECT_EQ(bench.receive(), frames{"q"});
}

TEST(rep, reads_a_long_envelope_in_several_calls) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    frames envelope(20'000, "e");
    write_message(*a.far, envelope);  // without a delimiter
    envelope.insert(envelope.end(), {"", "q"});
    write_message(*a.far, envelope);
    int calls = 0;
    while (!bench.subject->has_input())
        ASSERT_LT(++calls, 10);
    EXPECT_GE(calls, 4);
    EXPECT_EQ(bench.receive(), frames{"q"});
    EXPECT_EQ(bench.send({"r"}), error::none);
    envelope.back() = "r";
    EXPECT_EQ(read_messages(*a.far), std::vector<frames>{envelope});
}

TEST(rep, copies_a_bounded_number_of_octets_at_once) {
    pattern_bench bench(socket_type::rep);
    fake_peer a = bench.attach();
    frames message(40, std::string(400'000, 'e'));
    message.insert(message.end(), {"", "q"});
    write_message(*a.far, message);
    int calls = 0;
    while (!bench.subject->has_input())
        ASSERT_LT(++calls, 50);
    EXPECT_GE(calls, 8);
    EXPECT_EQ(bench.receive(), frames{"q"});
}

}  // namespace zlink::test
