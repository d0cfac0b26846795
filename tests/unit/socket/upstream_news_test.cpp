// Tests what an XPUB's application has not read yet.
#include <gtest/gtest.h>

#include <string>

#include "pattern_bench.hpp"
#include "socket/upstream_news.hpp"

namespace zlink::test {

namespace {

using enum upstream_news::withdrawal;

struct shelf {
    void tell(bool is_subscribe, std::string_view topic, upstream_news::peer_number peer = 0,
              bool is_repeated = false) {
        news.add_notice({.is_subscribe = is_subscribe,
                         .topic = as_bytes(topic),
                         .is_repeated = is_repeated,
                         .peer = peer});
    }
    void tell_in_message(std::string_view topic) {
        news.add_notice({.is_subscribe = true, .topic = as_bytes(topic), .is_in_message = true});
    }
    void add(std::string_view body, bool more, upstream_news::peer_number peer = 1) {
        frame_view frame;
        frame.data = as_bytes(body).data();
        frame.size = body.size();
        frame.flags = more ? frame_flag::more : 0;
        news.add_frame(frame, peer);
    }
    /// The next; + and - stand for the octet of a notice.
    std::string take() {
        if (news.is_empty())
            return "nothing";
        const upstream_news::news next = news.take();
        std::string text = text_of(next.frame);
        if (next.is_notice)
            text[0] = text[0] ? '+' : '-';
        return next.frame.has_more() ? text + ".." : text;
    }

    counting_random random;
    upstream_news news{random};
};

}  // namespace

TEST(upstream_news, gives_all_in_the_order_they_came) {
    shelf s;
    s.tell(true, "a");
    s.tell(false, "a");
    s.tell(true, "");
    s.add("m", false);
    s.news.end_message();
    s.tell(true, "a");
    for (const char *expected : {"+a", "-a", "+", "m", "+a", "nothing"})
        EXPECT_EQ(s.take(), expected);
}

TEST(upstream_news, withdraws_the_newest_of_equal_notices) {
    shelf s;
    s.tell(true, "a", 1);
    s.tell(true, "b", 1);
    s.tell(true, "a", 2);
    s.tell(true, "a", 1, true);
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 1), repeated);
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 0), original);
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 2), none);
    EXPECT_EQ(s.news.withdraw(true, as_bytes("c"), 0), none);
    EXPECT_EQ(s.news.notices(), 2u);
    EXPECT_EQ(s.take(), "+a");
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 1), none);  // it was read
    EXPECT_EQ(s.take(), "+b");
    EXPECT_EQ(s.take(), "nothing");
}

TEST(upstream_news, leaves_what_an_opposite_notice_follows) {
    shelf s;
    s.tell(true, "a", 1);
    s.tell(false, "a", 2);
    EXPECT_FALSE(s.news.has_newest(true, as_bytes("a"), 1, 0));
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 1, 0), none);
    EXPECT_TRUE(s.news.has_newest(true, as_bytes("a"), 1, 1));
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 1, 1), original);
    EXPECT_FALSE(s.news.has_newest(true, as_bytes("a"), 1, 1));
}

TEST(upstream_news, knows_whether_the_end_of_a_topic_is_one_for_its_reader) {
    shelf s;
    EXPECT_TRUE(s.news.withdraw_subscribes(as_bytes("a")));  // all of it was read
    s.tell(true, "a", 1);
    s.tell(true, "a", 2);
    EXPECT_FALSE(s.news.withdraw_subscribes(as_bytes("a")));
    EXPECT_EQ(s.take(), "nothing");
    s.tell(true, "a", 1);
    s.tell(false, "a", 0);
    s.tell(true, "a", 2);
    EXPECT_FALSE(s.news.withdraw_subscribes(as_bytes("a")));
    EXPECT_EQ(s.take(), "+a");
    EXPECT_EQ(s.take(), "-a");
    s.tell(true, "a", 1);
    EXPECT_EQ(s.take(), "+a");
    s.tell(true, "a", 2);
    EXPECT_TRUE(s.news.withdraw_subscribes(as_bytes("a")));
    EXPECT_EQ(s.take(), "nothing");
}

TEST(upstream_news, gives_frame_by_frame_what_stands_in_one_place) {
    shelf s;
    std::string large(300, 'l'), larger(20'000, 'r');
    s.add("a", true);
    s.add("", true);
    s.add(large, false);
    s.news.end_message();
    EXPECT_EQ(s.take(), "a..");
    s.add("another peer's", false, 2);
    s.news.end_message();
    s.add(larger, true, 2);
    s.add("end", false, 2);
    s.news.end_message();
    for (const std::string &expected :
         {std::string(".."), large, std::string("another peer's"), larger + "..", std::string("end")})
        EXPECT_EQ(s.take(), expected);
    EXPECT_EQ(s.take(), "nothing");
    EXPECT_EQ(s.news.frames(), 0u);
}

TEST(upstream_news, shows_a_message_when_it_ends_with_what_was_told_in_it) {
    shelf s;
    s.add("1", true);
    s.tell_in_message("in it");
    s.tell(true, "beside it");
    EXPECT_EQ(s.take(), "+beside it");
    EXPECT_TRUE(s.news.is_empty());
    EXPECT_EQ(s.news.frames(), 1u);
    s.add("2", false);
    s.news.end_message();
    for (const char *expected : {"1..", "+in it", "2", "nothing"})
        EXPECT_EQ(s.take(), expected);
    EXPECT_EQ(s.news.notices(), 0u);
    EXPECT_EQ(s.news.frames(), 0u);
}

TEST(upstream_news, withdraws_what_was_told_in_a_message_that_is_not_all_there) {
    shelf s;
    s.add("1", true);
    s.tell_in_message("a");
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 0), original);
    s.news.end_message();
    EXPECT_EQ(s.take(), "1");
    EXPECT_EQ(s.take(), "nothing");
}

TEST(upstream_news, ends_a_message_with_the_last_frame_that_is_told) {
    shelf s;
    s.add("m", true);
    s.news.end_message();  // with one that nobody has to know of
    s.add("n", true);
    s.add("o", true);
    s.tell_in_message("a");
    s.news.end_message();
    EXPECT_EQ(s.news.withdraw(true, as_bytes(std::string_view("a")), 0), original);
    for (const char *expected : {"m", "n..", "o", "nothing"})
        EXPECT_EQ(s.take(), expected);
}

TEST(upstream_news, knows_how_many_messages_it_has) {
    shelf s;
    const auto expect = [&](std::uint64_t messages, const char *taken) {
        EXPECT_EQ(s.news.messages(), messages);
        EXPECT_EQ(s.take(), taken);
    };
    s.add("1", false);
    s.news.end_message();
    s.tell(true, "no message");
    s.tell_in_message("nor is this");
    s.news.end_message();
    s.add("2", true);
    s.tell_in_message("in the middle");
    s.add("3", false);
    s.news.end_message();
    s.add("4", true);
    s.add("5", true);
    s.tell_in_message("b");
    s.tell_in_message("at the end");
    s.news.end_message();
    s.tell(true, "behind");
    s.add("6", true);  // that is not all there
    expect(3, "1");
    expect(2, "+no message");
    expect(2, "+nor is this");
    expect(2, "2..");
    expect(2, "+in the middle");
    expect(2, "3");
    expect(1, "4..");
    expect(1, "5..");
    expect(0, "+b");
    expect(0, "+at the end");
    expect(0, "+behind");
    expect(0, "nothing");
}

TEST(upstream_news, gives_the_rest_of_a_message_that_is_being_read_whatever_happens_meanwhile) {
    shelf s;
    s.add("m", true);
    s.tell_in_message("a");
    s.news.end_message();
    s.tell(true, "b");
    EXPECT_EQ(s.take(), "m..");
    EXPECT_FALSE(s.news.has_newest(true, as_bytes(std::string_view("a")), 0, 0));
    EXPECT_EQ(s.news.withdraw(true, as_bytes(std::string_view("a")), 0), none);
    EXPECT_TRUE(s.news.withdraw_subscribes(as_bytes(std::string_view("a")))) << "as if it had been read";
    EXPECT_EQ(s.news.notices(), 1u);
    for (const char *expected : {"+a", "+b", "nothing"})
        EXPECT_EQ(s.take(), expected);
    EXPECT_EQ(s.news.notices(), 0u);
}

TEST(upstream_news, keeps_of_a_cut_message_what_was_told_in_it) {
    shelf s;
    s.add("1", true);
    s.tell_in_message("a");
    EXPECT_EQ(s.news.drop_cut_message(), 1u);
    EXPECT_EQ(s.news.frames(), 0u);
    EXPECT_EQ(s.news.withdraw(true, as_bytes("a"), 0), original);
    EXPECT_TRUE(s.news.is_empty());
}

}  // namespace zlink::test
