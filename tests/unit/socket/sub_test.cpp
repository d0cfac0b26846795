// SUB and XSUB against fake peers.
#include <gtest/gtest.h>

#include "pattern_bench.hpp"

namespace zlink::test {

namespace {

error subscribe(pattern_bench &bench, std::string_view topic) {
    return bench.subject->subscribe(as_bytes(topic));
}
error unsubscribe(pattern_bench &bench, std::string_view topic) {
    return bench.subject->unsubscribe(as_bytes(topic));
}
}  // namespace

TEST(sub, tells_every_publisher_what_it_wants) {
    pattern_bench bench(socket_type::sub);
    fake_peer a = bench.attach(), b = bench.attach(1);
    EXPECT_EQ(subscribe(bench, "x"), error::none);
    EXPECT_EQ(subscribe(bench, "y"), error::none);
    EXPECT_EQ(subscribe(bench, "x"), error::none);
    EXPECT_EQ(unsubscribe(bench, "x"), error::none);
    EXPECT_EQ(bench.subject->topics_count(), 2);
    EXPECT_EQ(unsubscribe(bench, "x"), error::none);
    EXPECT_EQ(unsubscribe(bench, "unknown"), error::none);
    const std::vector<frames> expected{{"!1x"}, {"!1y"}, {"!1x"}, {"!0x"}};
    EXPECT_EQ(read_messages(*a.far), expected);
    EXPECT_EQ(read_messages(*b.far), expected);  // a mark does not hold for subscriptions
}

TEST(sub, tells_a_new_publisher_all_of_its_topics) {
    pattern_bench bench(socket_type::sub);
    for (int i = 0; i < 1000; ++i)
        EXPECT_EQ(subscribe(bench, std::to_string(i)), error::none);
    EXPECT_EQ(subscribe(bench, "0"), error::none);
    fake_peer a = bench.attach(10);
    EXPECT_EQ(read_messages(*a.far).size(), 1000u);
}

TEST(sub, receives_in_turn_what_it_subscribes_to) {
    pattern_bench bench(socket_type::sub);
    fake_peer a = bench.attach(), b = bench.attach();
    EXPECT_EQ(subscribe(bench, "t"), error::none);
    write_message(*a.far, {"t1", "x"});
    write_message(*a.far, {"other", "x", "y"});
    write_message(*a.far, {"t2"});
    write_message(*b.far, {"t3"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), (frames{"t1", "x"}));
    EXPECT_EQ(bench.receive(), frames{"t3"});
    EXPECT_EQ(bench.receive(), frames{"t2"});
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(sub, does_not_take_an_unwanted_message_for_input) {
    pattern_bench bench(socket_type::sub);
    fake_peer a = bench.attach();
    write_message(*a.far, {"t1", "x"});
    EXPECT_FALSE(bench.subject->has_input());
    EXPECT_EQ(subscribe(bench, "t"), error::none);
    write_message(*a.far, {"t2", "x"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(unsubscribe(bench, "t"), error::none);  // what was seen to be there is gone again
    EXPECT_FALSE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), std::nullopt);
}

TEST(sub, inverts_matching_when_asked_to) {
    pattern_bench bench(socket_type::sub);
    bench.options.invert_matching = true;
    fake_peer a = bench.attach();
    EXPECT_EQ(subscribe(bench, "t"), error::none);
    write_message(*a.far, {"t1"});
    write_message(*a.far, {"u1"});
    EXPECT_EQ(bench.receive(), frames{"u1"});
}

TEST(sub, does_not_send) {
    pattern_bench bench(socket_type::sub);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"x"}), error::not_supported);
    EXPECT_FALSE(bench.subject->has_output());
    EXPECT_FALSE(bench.subject->arm(true, true));
}

TEST(sub, reads_what_a_closed_publisher_left) {
    pattern_bench bench(socket_type::sub);
    fake_peer a = bench.attach();
    EXPECT_EQ(subscribe(bench, ""), error::none);
    write_message(*a.far, {"1"});
    bench.close_far(a);
    EXPECT_EQ(subscribe(bench, "not for the closed one"), error::none);
    EXPECT_EQ(bench.receive(), frames{"1"});
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.is_done(a));
}

TEST(xsub, subscribes_by_sending) {
    pattern_bench bench(socket_type::xsub);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({on + "x"}), error::none);
    EXPECT_EQ(bench.send({on + "x"}), error::none);
    EXPECT_EQ(bench.send({off + "x"}), error::none);
    EXPECT_EQ(bench.send({off + "x"}), error::none);
    EXPECT_EQ(bench.send({off + "x"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"!1x"}, {"!1x"}, {"!0x"}}));
    bench.options.xsub_verbose_unsubscribe = true;
    EXPECT_EQ(bench.send({off + "x"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"!0x"}}));
    EXPECT_EQ(subscribe(bench, "x"), error::invalid);
}

TEST(xsub, sends_other_messages_to_all_publishers) {
    pattern_bench bench(socket_type::xsub);
    fake_peer a = bench.attach(), b = bench.attach(1);
    EXPECT_EQ(bench.send({"u"}), error::none);
    EXPECT_EQ(bench.send({"v", "w"}), error::none);  // b has no room
    EXPECT_EQ(bench.send({""}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"u"}, {"v", "w"}, {""}}));
    EXPECT_EQ(read_messages(*b.far), (std::vector<frames>{{"u"}}));
    EXPECT_TRUE(bench.subject->has_output());
}

TEST(xsub, keeps_a_message_of_several_frames_whole_and_learns_from_it) {
    pattern_bench bench(socket_type::xsub);
    fake_peer a = bench.attach();
    EXPECT_EQ(bench.send({"u", on + "t", "v"}), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"u", on + "t", "v"}}));
    EXPECT_EQ(bench.subject->topics_count(), 1);
    bench.options.only_first_subscribe = true;
    EXPECT_EQ(bench.send({"u", on + "w"}), error::none);
    EXPECT_EQ(bench.subject->topics_count(), 1);
}

TEST(xsub, receives_everything) {
    pattern_bench bench(socket_type::xsub);
    fake_peer a = bench.attach();
    write_message(*a.far, {"whatever", "x"});
    EXPECT_TRUE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), (frames{"whatever", "x"}));
}

TEST(sub, passes_over_a_bounded_number_of_unwanted_messages_at_once_and_the_rest_later) {
    pattern_bench bench(socket_type::sub);
    ASSERT_EQ(subscribe(bench, "wanted"), error::none);
    fake_peer a = bench.attach();
    for (int i = 0; i < 50'000; ++i)
        write_message(*a.far, {"other"});
    write_message(*a.far, {"wanted", "part"});
    int calls = 0;
    for (; !bench.subject->has_input(); ++calls) {
        ASSERT_LT(calls, 10);
        EXPECT_TRUE(bench.goes_on);
        EXPECT_TRUE(bench.subject->arm(true, false));  // nobody sleeps
        EXPECT_TRUE(a.near->has_input());
    }
    EXPECT_GE(calls, 3);
    EXPECT_EQ(bench.receive(), (frames{"wanted", "part"}));
    EXPECT_FALSE(bench.goes_on);
    EXPECT_FALSE(bench.subject->arm(true, false));
}

TEST(sub, passes_over_a_message_of_many_frames_in_several_calls) {
    pattern_bench bench(socket_type::sub);
    ASSERT_EQ(subscribe(bench, "wanted"), error::none);
    fake_peer a = bench.attach();
    write_message(*a.far, frames(20'000, "other"));
    write_message(*a.far, {"wanted", "part"});
    EXPECT_FALSE(bench.subject->has_input());
    EXPECT_EQ(bench.receive(), std::nullopt);
    EXPECT_TRUE(bench.goes_on);
    EXPECT_EQ(bench.receive(), (frames{"wanted", "part"}));
}

TEST(sub, forgets_an_unwanted_message_with_its_peer) {
    pattern_bench bench(socket_type::sub);
    ASSERT_EQ(subscribe(bench, "wanted"), error::none);
    fake_peer a = bench.attach(), b = bench.attach();
    write_message(*a.far, frames(20'000, "other"));
    EXPECT_EQ(bench.receive(), std::nullopt);
    bench.subject->detach(*a.near);
    write_message(*b.far, {"wanted", "part"});
    EXPECT_EQ(bench.receive(), (frames{"wanted", "part"}));
}

TEST(sub, looks_at_a_bounded_number_of_messages_where_the_pattern_is_left_out) {
    pattern_bench bench(socket_type::sub);
    ASSERT_EQ(subscribe(bench, "wanted"), error::none);
    fake_peer a = bench.attach();
    for (int i = 0; i < 50'000; ++i)
        write_message(*a.far, {"other"});
    direct_input direct;
    direct.set(bench.subject->direct_input());
    short_frame frame;
    bool more = false;
    EXPECT_FALSE(direct.take(frame, more));
    EXPECT_TRUE(a.near->has_input());
}

TEST(sub, writes_no_subscriptions_for_a_publisher_that_is_away) {
    pattern_bench bench(socket_type::sub);
    ASSERT_EQ(subscribe(bench, "before"), error::none);
    fake_peer a = bench.attach_prepared([](fake_peer &p) { p.far->follow(false); }), b = bench.attach();
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(subscribe(bench, "topic"), error::none);
        ASSERT_EQ(unsubscribe(bench, "topic"), error::none);
    }
    EXPECT_FALSE(a.far->has_input());
    EXPECT_EQ(read_messages(*b.far).size(), 2001u);
    a.far->follow(true);
    ASSERT_EQ(unsubscribe(bench, "before"), error::none);
    EXPECT_EQ(read_messages(*a.far), (std::vector<frames>{{"!0before"}}));
}

}  // namespace zlink::test
