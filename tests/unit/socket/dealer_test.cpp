// DEALER against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(dealer, sends_in_turn_and_receives_in_turn) {
    pattern_bench bench(socket_type::dealer);
    fake_peer a = bench.attach_named("a"), b = bench.attach_named("b");
    EXPECT_EQ(bench.send({"1", "2"}), error::none);
    EXPECT_EQ(bench.send({"3"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1", "2"}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"3"}}));
    write_message(*b.far, {"b1", "b2"});
    write_message(*b.far, {"b3"});
    write_message(*a.far, {"a1"});
    std::vector<frames> got;
    while (auto m = bench.receive())
        got.push_back(*m);
    EXPECT_EQ(got.size(), 3u);
    EXPECT_TRUE(std::find(got.begin(), got.end(), frames({"b1", "b2"})) != got.end());
}

TEST(dealer, probes_each_new_peer_when_asked_to) {
    pattern_bench bench(socket_type::dealer);
    fake_peer quiet = bench.attach();
    bench.options.probe_router = true;
    fake_peer probed = bench.attach();
    EXPECT_TRUE(read_messages(*quiet.far).empty());
    EXPECT_EQ(read_messages(*probed.far), (std::vector<frames>{{""}}));
}

TEST(dealer, arms_for_input_and_output_at_once) {
    pattern_bench bench(socket_type::dealer);
    fake_peer a = bench.attach(1);
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_FALSE(bench.subject->arm(true, true));
    write_message(*a.far, {"x"});
    bench.deliver();
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_FALSE(bench.subject->has_output());
    read_messages(*a.far);
    bench.deliver();
    EXPECT_TRUE(bench.subject->has_output());
}

TEST(dealer, keeps_nothing_of_peers_that_went_while_it_only_sent) {
    pattern_bench bench(socket_type::dealer);
    for (int i = 0; i < 3; ++i) {
        fake_peer peer = bench.attach_named("peer");
        EXPECT_EQ(bench.send({"1"}), error::none);
        bench.close_far(peer);
        EXPECT_TRUE(bench.is_done(peer));
    }
}

TEST(dealer, keeps_reading_a_closed_peer_but_writes_no_more_to_it) {
    pattern_bench bench(socket_type::dealer);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, {"left"});
    bench.close_far(a);
    EXPECT_EQ(bench.send({"1"}), error::none);
    EXPECT_EQ(bench.send({"2"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"1"}, {"2"}}));
    EXPECT_EQ(bench.receive(), frames{"left"});
    EXPECT_FALSE(bench.subject->has_input());
    EXPECT_TRUE(bench.is_done(a));
}

}  // namespace zlink::test
