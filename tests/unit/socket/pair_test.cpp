// PAIR against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

TEST(pair, talks_both_ways_with_its_peer) {
    pattern_bench bench(socket_type::pair);
    EXPECT_EQ(bench.send({"x"}), error::again);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"1", "2"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"1", "2"}}));
    write_message(*a.far, {"3", "4"});
    EXPECT_EQ(bench.receive(), (frames{"3", "4"}));
}

TEST(pair, refuses_a_second_peer_until_the_first_has_ended_and_reads_one_after_the_other) {
    pattern_bench bench(socket_type::pair);
    fake_peer a = bench.attach();
    fake_peer b = bench.attach();
    EXPECT_TRUE(bench.is_done(b));
    EXPECT_EQ(bench.send({"x"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"x"}}));

    write_message(*a.far, {"left"});
    bench.close_far(a);
    EXPECT_EQ(bench.send({"y"}), error::again);
    fake_peer c = bench.attach();  // the first is not read to its end yet
    EXPECT_FALSE(bench.is_done(c));
    EXPECT_EQ(bench.send({"z"}), error::none);
    EXPECT_EQ(read_messages(*c.far), (std::vector<frames>{{"z"}}));
    write_message(*c.far, {"later"});
    write_message(*c.far, {"last"});
    c.far->close();  // nobody has heard of it yet
    fake_peer d = bench.attach();
    write_message(*d.far, {"of the last"});
    bench.deliver();
    EXPECT_EQ(bench.receive(), frames{"left"});
    EXPECT_FALSE(bench.is_done(a));
    for (const char *next : {"later", "last", "of the last"})
        EXPECT_EQ(bench.receive(), frames{next});
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(a) && bench.is_done(c));
    EXPECT_FALSE(bench.is_done(d));
}

TEST(pair, lets_go_of_peers_that_wait_to_be_read) {
    pattern_bench bench(socket_type::pair);
    fake_peer a = bench.attach();
    write_message(*a.far, {"of a"});
    bench.close_far(a);
    fake_peer b = bench.attach();
    write_message(*b.far, {"of b"});
    bench.close_far(b);
    fake_peer c = bench.attach();
    write_message(*c.far, {"of c"});
    bench.subject->detach(*b.near);
    bench.subject->detach(*a.near);
    EXPECT_EQ(bench.receive(), frames{"of c"});
    bench.subject->detach(*c.near);
    fake_peer d = bench.attach();
    write_message(*d.far, {"of d"});
    EXPECT_EQ(bench.receive(), frames{"of d"});
}

TEST(pair, keeps_no_peer_that_said_nothing_behind_one_that_is_not_read) {
    pattern_bench bench(socket_type::pair);
    fake_peer a = bench.attach();
    write_message(*a.far, {"of a"});
    bench.close_far(a);
    fake_peer b = bench.attach_named("b");
    bench.close_far(b);
    EXPECT_TRUE(bench.is_done(b));
    EXPECT_FALSE(bench.is_done(a));
    fake_peer c = bench.attach();
    write_message(*c.far, {"of c"});
    EXPECT_EQ(bench.receive(), frames{"of a"});
    EXPECT_EQ(bench.receive(), frames{"of c"});
}

TEST(pair, accepts_another_peer_after_a_disconnect) {
    pattern_bench bench(socket_type::pair);
    fake_peer a = bench.attach();
    bench.subject->detach(*a.near);
    fake_peer b = bench.attach();
    EXPECT_FALSE(bench.is_done(b));
    EXPECT_EQ(bench.send({"x"}), error::none);
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"x"}}));
}

TEST(pair, ignores_commands) {
    pattern_bench bench(socket_type::pair);
    fake_peer a = bench.attach_named("name");
    write_command(*a.far, in_band::gone);
    EXPECT_FALSE(bench.subject->has_input());
    write_message(*a.far, {"x"});
    EXPECT_EQ(bench.receive(), frames{"x"});
}

}  // namespace zlink::test
