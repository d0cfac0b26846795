// PUB, XPUB, SUB and XSUB: what passes, what the publisher learns of its subscribers, and the
// options of both.
#define ZMQ_BUILD_DRAFT_API
#include <poll.h>

#include "sockets.hpp"
#include "subscription_messages.hpp"

namespace {

using namespace zlink_test;

class pubsub : public ::testing::TestWithParam<const char *> {};

TEST_P(pubsub, passes_what_begins_with_a_topic) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "ab");
    connected(zmq, pub, sub, GetParam());
    ASSERT_EQ(pub.receive(), subscription("ab"));
    for (const char *topic : {"a", "ab", "b", "abc", ""})
        ASSERT_TRUE(pub.send_all({topic, "body"}));
    EXPECT_EQ(sub.receive_all(), (frames{"ab", "body"}));
    EXPECT_EQ(sub.receive_all(), (frames{"abc", "body"}));
    ASSERT_EQ(sub.set(ZMQ_UNSUBSCRIBE, "ab"), 0);
    ASSERT_EQ(pub.receive(), cancellation("ab"));
    pub.send("abc");
    sub.set(ZMQ_SUBSCRIBE, "z");
    ASSERT_EQ(pub.receive(), subscription("z"));
    pub.send("z");
    EXPECT_EQ(sub.receive(), "z");
}

INSTANTIATE_TEST_SUITE_P(transports, pubsub, ::testing::Values("tcp", "ipc", "inproc"));

TEST(sub, counts_equal_subscriptions) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    connected(zmq, pub, sub, "inproc");
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.set(ZMQ_SUBSCRIBE, "a");
    sub.set(ZMQ_UNSUBSCRIBE, "a");
    sub.set(ZMQ_SUBSCRIBE, "z");
    ASSERT_EQ(pub.receive(), subscription("a"));
    ASSERT_EQ(pub.receive(), subscription("z"));
    pub.send("a");
    EXPECT_EQ(sub.receive(), "a");
}

TEST(sub, may_not_send_and_a_publisher_may_not_receive) {
    context zmq;
    test_socket sub = zmq.socket(ZMQ_SUB);
    test_socket pub = zmq.socket(ZMQ_PUB);
    char byte;
    EXPECT_FAILS(ENOTSUP, sub.send("x"));
    EXPECT_FAILS(ENOTSUP, zmq_recv(pub.handle(), &byte, 1, 0));
}

class xpub_with_two_subscribers : public ::testing::Test {
protected:
    void SetUp() override { second.connect(connected(zmq, pub, first, "inproc")); }

    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket first = zmq.socket(ZMQ_SUB), second = zmq.socket(ZMQ_SUB);
};

TEST_F(xpub_with_two_subscribers, hears_an_equal_subscription_once) {
    first.set(ZMQ_SUBSCRIBE, "a");
    ASSERT_EQ(pub.receive(), subscription("a"));
    second.set(ZMQ_SUBSCRIBE, "a");
    second.set(ZMQ_SUBSCRIBE, "b");
    EXPECT_EQ(pub.receive(), subscription("b"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    second.set(ZMQ_UNSUBSCRIBE, "b");
    EXPECT_EQ(pub.receive(), cancellation("b"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST_F(xpub_with_two_subscribers, verbose_hears_every_subscription_but_only_the_last_cancellation) {
    ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSE, 1), 0);
    first.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), subscription("a"));
    second.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), subscription("a"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    first.set(ZMQ_SUBSCRIBE, "mark");
    EXPECT_EQ(pub.receive(), subscription("mark"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST_F(xpub_with_two_subscribers, verboser_hears_every_cancellation_too) {
    ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSER, 1), 0);
    first.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), subscription("a"));
    second.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), subscription("a"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST(xpub, hears_the_cancellation_of_a_subscriber_that_has_gone) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_SUB);
    connected(zmq, pub, sub, "tcp");
    sub.set(ZMQ_SUBSCRIBE, "a");
    ASSERT_EQ(pub.receive(), subscription("a"));
    sub.close();
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST(xpub, manual_subscribes_the_last_heard_subscriber_to_what_it_is_told) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    ASSERT_EQ(pub.set(ZMQ_XPUB_MANUAL, 1), 0);
    test_socket sub = zmq.socket(ZMQ_SUB);
    connected(zmq, pub, sub, "inproc");
    sub.set(ZMQ_SUBSCRIBE, "a");
    ASSERT_EQ(pub.receive(), subscription("a"));
    ASSERT_EQ(pub.set(ZMQ_SUBSCRIBE, "b"), 0);
    pub.send("a");
    pub.send("b");
    // A SUB filters again by what it asked for; an XSUB shows what really came.
    test_socket raw = zmq.socket(ZMQ_XSUB);
    raw.connect(pub.last_endpoint());
    raw.send(subscription("x"));
    ASSERT_EQ(pub.receive(), subscription("x"));
    ASSERT_EQ(pub.set(ZMQ_SUBSCRIBE, "y"), 0);
    pub.send("x");
    pub.send("y");
    EXPECT_EQ(raw.receive(), "y");
    raw.send(cancellation("x"));
    ASSERT_EQ(pub.receive(), cancellation("x"));
    ASSERT_EQ(pub.set(ZMQ_UNSUBSCRIBE, "y"), 0);
    pub.send("y");
    EXPECT_FALSE(raw.receive(ZMQ_DONTWAIT));
}

TEST(xpub, manual_last_value_sends_the_next_message_to_who_asked_last_alone) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket early = zmq.socket(ZMQ_SUB);
    test_socket late = zmq.socket(ZMQ_SUB);
    ASSERT_EQ(pub.set(ZMQ_XPUB_MANUAL_LAST_VALUE, 1), 0);
    const std::string endpoint = scratch_endpoint("inproc");
    pub.bind(endpoint);
    for (test_socket *each : {&early, &late}) {
        each->connect(endpoint);
        ASSERT_EQ(each->set(ZMQ_SUBSCRIBE, "a"), 0);
        ASSERT_EQ(pub.receive(), subscription("a"));
        ASSERT_EQ(pub.set(ZMQ_SUBSCRIBE, "a"), 0);
        ASSERT_TRUE(pub.send_all({"a", each == &early ? "for the early one" : "for the late one"}));
    }
    ASSERT_TRUE(pub.send_all({"a", "for both"}));
    EXPECT_EQ(early.receive_all(), (frames{"a", "for the early one"}));
    EXPECT_EQ(early.receive_all(), (frames{"a", "for both"}));
    EXPECT_EQ(late.receive_all(), (frames{"a", "for the late one"}));
    EXPECT_EQ(late.receive_all(), (frames{"a", "for both"}));
}

TEST(xpub, only_a_manual_one_may_subscribe) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    EXPECT_FAILS(EINVAL, pub.set(ZMQ_SUBSCRIBE, "a"));
}

TEST(xpub, greets_each_subscriber_with_the_welcome_message) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    ASSERT_EQ(pub.set(ZMQ_XPUB_WELCOME_MSG, "W"), 0);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_SUBSCRIBE, "W");
    connected(zmq, pub, sub, "tcp");
    ASSERT_EQ(pub.receive(), subscription("W"));
    EXPECT_EQ(sub.receive(), "W");
}

TEST(xpub, a_message_that_ends_with_what_need_not_be_told_ends_before_it) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_XSUB);
    connected(zmq, pub, sub, "inproc");
    ASSERT_TRUE(sub.send_all({"first", "second", std::string("\0nobody", 7)}));
    ASSERT_EQ(sub.send("next"), 4);
    EXPECT_EQ(pub.receive_all(), (frames{"first", "second"}));
    EXPECT_EQ(pub.receive_all(), (frames{"next"}));
}

TEST(pub, greets_each_subscriber_with_the_welcome_message) {
    for (const char *transport : {"tcp", "inproc"}) {
        SCOPED_TRACE(transport);
        context zmq;
        test_socket pub = zmq.socket(ZMQ_PUB);
        ASSERT_EQ(pub.set(ZMQ_XPUB_WELCOME_MSG, "W"), 0);
        test_socket sub = zmq.socket(ZMQ_SUB);
        sub.set(ZMQ_SUBSCRIBE, "W");
        connected(zmq, pub, sub, transport);
        ASSERT_EQ(pub.send("nothing that is wanted"), 22);  // takes in who is there
        EXPECT_EQ(sub.receive(), "W");
    }
}

TEST(xpub, without_dropping_reports_a_full_subscriber) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    ASSERT_EQ(pub.set(ZMQ_XPUB_NODROP, 1), 0);
    pub.set(ZMQ_SNDHWM, 5);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_RCVHWM, 5);
    sub.set(ZMQ_SUBSCRIBE, "");
    connected(zmq, pub, sub, "inproc");
    ASSERT_TRUE(pub.receive());
    int count = 0;
    while (count < 100 && pub.send(std::to_string(count), ZMQ_DONTWAIT) != -1)
        ++count;
    EXPECT_EQ(zmq_errno(), EAGAIN);
    EXPECT_EQ(count, 10);
    for (int i = 0; i < count; ++i)
        EXPECT_EQ(sub.receive(), std::to_string(i));
    EXPECT_EQ(pub.send("again"), 5);
    EXPECT_EQ(sub.receive(), "again");
}

TEST(pub, inverted_matching_sends_to_those_who_did_not_ask) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    ASSERT_EQ(pub.set(ZMQ_INVERT_MATCHING, 1), 0);
    test_socket first = zmq.socket(ZMQ_SUB);
    test_socket second = zmq.socket(ZMQ_SUB);
    first.set(ZMQ_INVERT_MATCHING, 1);
    second.set(ZMQ_INVERT_MATCHING, 1);
    first.set(ZMQ_SUBSCRIBE, "a");
    second.set(ZMQ_SUBSCRIBE, "b");
    const std::string endpoint = connected(zmq, pub, first, "inproc");
    second.connect(endpoint);
    ASSERT_TRUE(pub.receive());
    ASSERT_TRUE(pub.receive());
    pub.send("a");
    pub.send("b");
    pub.send("c");
    EXPECT_EQ(first.receive(), "b");
    EXPECT_EQ(first.receive(), "c");
    EXPECT_EQ(second.receive(), "a");
    EXPECT_EQ(second.receive(), "c");
}

TEST(xsub, sends_messages_that_are_not_subscriptions_upstream) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_XSUB);
    connected(zmq, pub, sub, "tcp");
    ASSERT_EQ(sub.send("user message"), 12);
    EXPECT_EQ(pub.receive(), "user message");
}

TEST(xsub, verbose_unsubscribe_passes_every_cancellation_on) {
    for (const bool is_verbose : {false, true}) {
        SCOPED_TRACE(is_verbose);
        context zmq;
        test_socket pub = zmq.socket(ZMQ_XPUB);
        test_socket sub = zmq.socket(ZMQ_XSUB);
        ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSER, 1), 0);
        ASSERT_EQ(sub.set(ZMQ_XSUB_VERBOSE_UNSUBSCRIBE, is_verbose), 0);
        connected(zmq, pub, sub, "inproc");
        sub.send(subscription("a"));
        ASSERT_EQ(pub.receive(), subscription("a"));
        sub.send(cancellation("never subscribed"));
        sub.send(subscription("z"));
        if (is_verbose) {
            EXPECT_EQ(pub.receive(), cancellation("never subscribed"));
        }
        EXPECT_EQ(pub.receive(), subscription("z"));
    }
}

TEST(xsub, subscribes_again_to_a_publisher_that_comes_later) {
    context zmq;
    test_socket sub = zmq.socket(ZMQ_XSUB);
    sub.send(subscription("a"));
    const std::string endpoint = sub.bind(scratch_endpoint("tcp"));
    test_socket pub = zmq.socket(ZMQ_XPUB);
    pub.connect(endpoint);
    // libzmq attaches an accepted peer during a call on the socket that bound.
    EXPECT_TRUE(eventually([&] {
        sub.get(ZMQ_EVENTS);
        return pub.receive(ZMQ_DONTWAIT) == subscription("a");
    }));
}

TEST(xpub, shows_at_its_descriptor_that_it_has_more_to_take_in) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    test_socket sub = zmq.socket(ZMQ_XSUB);
    connected(zmq, pub, sub, "inproc");
    pollfd descriptor{pub.get(ZMQ_FD), POLLIN, 0};
    for (int i = 0; i < 100'000; ++i)
        sub.send(subscription("a"));
    sub.send("the end");
    std::vector<std::string> got;
    while (got.size() < 2) {
        ASSERT_EQ(::poll(&descriptor, 1, patience_ms), 1);
        while (pub.get(ZMQ_EVENTS) & ZMQ_POLLIN)
            got.push_back(*pub.receive(ZMQ_DONTWAIT));
    }
    EXPECT_EQ(got, (std::vector<std::string>{subscription("a"), "the end"}));
}

TEST(sub, gives_a_publisher_that_was_away_what_it_wants_now_and_once) {
    context zmq;
    test_socket sub = zmq.socket(ZMQ_SUB);
    const std::string endpoint = deserted_endpoint();
    sub.connect(endpoint);
    for (int i = 0; i < 1000; ++i) {
        sub.set(ZMQ_SUBSCRIBE, "a");
        sub.set(ZMQ_UNSUBSCRIBE, "a");
    }
    sub.set(ZMQ_SUBSCRIBE, "b");
    test_socket pub = zmq.socket(ZMQ_XPUB);
    pub.set(ZMQ_XPUB_VERBOSE, 1);
    pub.bind(endpoint);
    EXPECT_EQ(pub.receive(), subscription("b"));
    sub.set(ZMQ_SUBSCRIBE, "c");
    EXPECT_EQ(pub.receive(), subscription("c"));
}

TEST(pub, sends_one_message_to_many_subscribers) {
    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    const std::string endpoint = pub.bind(scratch_endpoint("tcp"));
    std::vector<test_socket> subs;
    for (int i = 0; i < 10; ++i) {
        subs.push_back(zmq.socket(ZMQ_SUB));
        subs.back().set(ZMQ_SUBSCRIBE, std::to_string(i));
        subs.back().set(ZMQ_SUBSCRIBE, "all");
        subs.back().connect(endpoint);
    }
    for (int i = 0; i < 11; ++i)  // ten of their own, and "all" once
        ASSERT_TRUE(pub.receive());
    // "all" of the other nine is not reported; a round of own topics shows who is complete.
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(pub.send_all({std::to_string(i), "own"}));
        EXPECT_EQ(subs[static_cast<std::size_t>(i)].receive_all(), (frames{std::to_string(i), "own"}));
    }
}

}  // namespace
