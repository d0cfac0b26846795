// XPUB and its subscribers over every transport: what it is told of their subscriptions, and who
// gets what for them.
#include "sockets.hpp"
#include "subscription_messages.hpp"
#include "transports.hpp"

#include <random>
#include <set>

namespace {

using namespace zlink_test;
using namespace std::string_literals;

class xpub_filter : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override { endpoint = pub.bind(scratch_endpoint(GetParam())); }

    test_socket subscriber(const std::vector<std::string> &topics = {}) {
        test_socket sub = zmq.socket(ZMQ_SUB);
        for (const std::string &topic : topics)
            EXPECT_EQ(sub.set(ZMQ_SUBSCRIBE, topic), 0);
        sub.connect(endpoint);
        return sub;
    }
    // Returns what a subscriber gets up to a message for it alone.
    std::vector<std::string> received_until(test_socket &sub, const std::string &last) {
        std::vector<std::string> found;
        for (;;) {
            const auto text = sub.receive();
            EXPECT_TRUE(text) << last << " did not come";
            if (!text || *text == last)
                return found;
            found.push_back(*text);
        }
    }

    context zmq;
    test_socket pub = zmq.socket(ZMQ_XPUB);
    std::string endpoint;
};

TEST_P(xpub_filter, is_told_of_each_subscription_and_cancellation) {
    test_socket sub = subscriber();
    for (const std::string &topic : {"a"s, "ab"s, ""s, "\0\1\2"s, std::string(1000, 't')}) {
        sub.set(ZMQ_SUBSCRIBE, topic);
        EXPECT_EQ(pub.receive(), subscription(topic));
        sub.set(ZMQ_UNSUBSCRIBE, topic);
        EXPECT_EQ(pub.receive(), cancellation(topic));
    }
    EXPECT_FALSE(pub.receive(ZMQ_DONTWAIT));
}

TEST_P(xpub_filter, is_told_of_subscriptions_made_before_connecting) {
    test_socket sub = subscriber({"one", "two", "three"});
    std::set<std::string> told;
    for (int i = 0; i < 3; ++i)
        told.insert(pub.receive().value_or("nothing"));
    EXPECT_EQ(told, (std::set<std::string>{subscription("one"), subscription("two"), subscription("three")}));
}

TEST_P(xpub_filter, passes_what_begins_with_the_topic) {
    test_socket sub = subscriber({"topic"});
    ASSERT_EQ(pub.receive(), subscription("topic"));
    for (const char *text :
         {"", "t", "topi", "topic", "topics", "topic.a", "Topic", "atopic", "top ic", "topid"})
        ASSERT_NE(pub.send(text), -1);
    ASSERT_NE(pub.send("topic end"), -1);
    EXPECT_EQ(received_until(sub, "topic end"), (frames{"topic", "topics", "topic.a"}));
}

TEST_P(xpub_filter, looks_at_the_first_part_only) {
    test_socket sub = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    ASSERT_TRUE(pub.send_all({"b", "a"}));
    ASSERT_TRUE(pub.send_all({"", "a"}));
    ASSERT_TRUE(pub.send_all({"a", "b", ""}));
    EXPECT_EQ(sub.receive_all(), (frames{"a", "b", ""}));
}

TEST_P(xpub_filter, topics_are_octets) {
    test_socket sub = subscriber({"\0\xff"s});
    ASSERT_EQ(pub.receive(), subscription("\0\xff"s));
    ASSERT_NE(pub.send("\0"s), -1);
    ASSERT_NE(pub.send("\0\xfe"s), -1);
    ASSERT_NE(pub.send("\0\xff\0"s), -1);
    EXPECT_EQ(sub.receive(), "\0\xff\0"s);
}

TEST_P(xpub_filter, an_empty_topic_passes_everything) {
    test_socket sub = subscriber({""});
    ASSERT_EQ(pub.receive(), subscription(""));
    for (const char *text : {"", "a", "\1a"})
        ASSERT_NE(pub.send(text), -1);
    EXPECT_EQ(sub.receive(), "");
    EXPECT_EQ(sub.receive(), "a");
    EXPECT_EQ(sub.receive(), "\1a");
}

TEST_P(xpub_filter, overlapping_topics_pass_a_message_once) {
    test_socket sub = subscriber({"a", "ab", "abc", ""});
    for (int i = 0; i < 4; ++i)
        ASSERT_TRUE(pub.receive());
    for (const char *text : {"abcd", "abx", "ax", "x", "end"})
        ASSERT_NE(pub.send(text), -1);
    EXPECT_EQ(received_until(sub, "end"), (frames{"abcd", "abx", "ax", "x"}));
    // Without the wider ones the narrow one is left.
    for (const char *topic : {"", "a", "ab"}) {
        sub.set(ZMQ_UNSUBSCRIBE, topic);
        ASSERT_EQ(pub.receive(), cancellation(topic));
    }
    for (const char *text : {"x", "ax", "abx", "abcd"})
        ASSERT_NE(pub.send(text), -1);
    EXPECT_EQ(sub.receive(), "abcd");
}

TEST_P(xpub_filter, nothing_passes_after_a_cancellation) {
    test_socket sub = subscriber({"a", "end"});
    ASSERT_TRUE(pub.receive());
    ASSERT_TRUE(pub.receive());
    for (int round = 0; round < 5; ++round) {
        ASSERT_NE(pub.send("a " + std::to_string(round)), -1);
        EXPECT_EQ(sub.receive(), "a " + std::to_string(round));
        sub.set(ZMQ_UNSUBSCRIBE, "a");
        ASSERT_EQ(pub.receive(), cancellation("a"));
        ASSERT_NE(pub.send("a dropped"), -1);
        ASSERT_NE(pub.send("end"), -1);
        EXPECT_EQ(received_until(sub, "end"), frames{});
        sub.set(ZMQ_SUBSCRIBE, "a");
        ASSERT_EQ(pub.receive(), subscription("a"));
    }
}

TEST_P(xpub_filter, a_subscription_made_twice_is_cancelled_twice) {
    test_socket sub = subscriber({"a", "a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    sub.set(ZMQ_UNSUBSCRIBE, "a");
    sub.set(ZMQ_SUBSCRIBE, "mark");
    ASSERT_EQ(pub.receive(), subscription("mark"));
    ASSERT_NE(pub.send("a still"), -1);
    EXPECT_EQ(sub.receive(), "a still");
    sub.set(ZMQ_UNSUBSCRIBE, "a");
    ASSERT_EQ(pub.receive(), cancellation("a"));
    ASSERT_NE(pub.send("a dropped"), -1);
    ASSERT_NE(pub.send("mark"), -1);
    EXPECT_EQ(received_until(sub, "mark"), frames{});
}

TEST_P(xpub_filter, a_cancellation_of_nothing_is_not_told) {
    test_socket sub = subscriber();
    EXPECT_EQ(sub.set(ZMQ_UNSUBSCRIBE, "never"), 0);
    sub.set(ZMQ_SUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), subscription("a"));
}

// ---- Several subscribers ----

TEST_P(xpub_filter, is_told_of_a_topic_when_the_first_comes_and_the_last_goes) {
    test_socket first = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    test_socket second = subscriber({"a", "second"});
    ASSERT_EQ(pub.receive(), subscription("second"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    first.set(ZMQ_SUBSCRIBE, "mark");
    ASSERT_EQ(pub.receive(), subscription("mark"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST_P(xpub_filter, verbose_is_told_of_every_subscription) {
    ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSE, 1), 0);
    test_socket first = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    test_socket second = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    first.set(ZMQ_SUBSCRIBE, "mark");
    ASSERT_EQ(pub.receive(), subscription("mark"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
    // Switched off, it is told of new topics only.
    ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSE, 0), 0);
    second.set(ZMQ_SUBSCRIBE, "mark");
    second.set(ZMQ_SUBSCRIBE, "end");
    EXPECT_EQ(pub.receive(), subscription("end"));
}

TEST_P(xpub_filter, verboser_is_told_of_every_cancellation_too) {
    ASSERT_EQ(pub.set(ZMQ_XPUB_VERBOSER, 1), 0);
    test_socket first = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    test_socket second = subscriber({"a"});
    ASSERT_EQ(pub.receive(), subscription("a"));
    first.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
    second.set(ZMQ_UNSUBSCRIBE, "a");
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

TEST_P(xpub_filter, a_subscriber_that_goes_cancels_everything_it_had) {
    test_socket stays = subscriber({"shared"});
    ASSERT_EQ(pub.receive(), subscription("shared"));
    {
        test_socket goes = subscriber({"shared", "own", "other"});
        std::set<std::string> told{*pub.receive(), *pub.receive()};
        ASSERT_EQ(told, (std::set<std::string>{subscription("own"), subscription("other")}));
    }
    std::set<std::string> told;
    for (int i = 0; i < 2; ++i)
        told.insert(pub.receive().value_or("nothing"));
    EXPECT_EQ(told, (std::set<std::string>{cancellation("own"), cancellation("other")}));
    ASSERT_NE(pub.send("shared still"), -1);
    EXPECT_EQ(stays.receive(), "shared still");
}

TEST_P(xpub_filter, each_of_many_subscribers_gets_its_own) {
    constexpr int count = 40;
    std::vector<test_socket> subs;
    for (int i = 0; i < count; ++i)
        subs.push_back(subscriber({"own " + std::to_string(i) + ";", i % 2 ? "odd" : "even"}));
    for (int i = 0; i < count + 2; ++i)
        ASSERT_TRUE(pub.receive());
    // Subscriptions keep their order: who has said this one has said all.
    for (int i = 0; i < count; ++i) {
        subs[static_cast<std::size_t>(i)].set(ZMQ_SUBSCRIBE, "end " + std::to_string(i) + ";");
        ASSERT_EQ(pub.receive(), subscription("end " + std::to_string(i) + ";"));
    }
    for (int i = 0; i < count; ++i)
        ASSERT_NE(pub.send("own " + std::to_string(i) + "; hello"), -1);
    ASSERT_NE(pub.send("odd one"), -1);
    ASSERT_NE(pub.send("even one"), -1);
    for (int i = 0; i < count; ++i)
        ASSERT_NE(pub.send("end " + std::to_string(i) + ";"), -1);
    for (int i = 0; i < count; ++i)
        EXPECT_EQ(received_until(subs[static_cast<std::size_t>(i)], "end " + std::to_string(i) + ";"),
                  (frames{"own " + std::to_string(i) + "; hello", i % 2 ? "odd one" : "even one"}));
}

// Against a set of strings: whatever was subscribed and cancelled, what passes is what has a prefix
// in the set.
TEST_P(xpub_filter, agrees_with_a_set_of_prefixes) {
    std::mt19937 random(7);
    const auto word = [&](std::size_t longest) {
        std::string out;
        for (std::size_t size = random() % (longest + 1); size > 0; --size)
            out += static_cast<char>('a' + random() % 2);
        return out;
    };
    test_socket sub = subscriber({"end"});
    ASSERT_EQ(pub.receive(), subscription("end"));
    std::set<std::string> topics;
    for (int round = 0; round < 60; ++round) {
        for (int change = 0; change < 4; ++change) {
            const std::string topic = word(4);
            if (topics.erase(topic)) {
                sub.set(ZMQ_UNSUBSCRIBE, topic);
                ASSERT_EQ(pub.receive(), cancellation(topic));
            } else {
                topics.insert(topic);
                sub.set(ZMQ_SUBSCRIBE, topic);
                ASSERT_EQ(pub.receive(), subscription(topic));
            }
        }
        std::vector<std::string> expected;
        for (int i = 0; i < 20; ++i) {
            const std::string text = word(6);
            ASSERT_NE(pub.send(text), -1);
            if (std::any_of(topics.begin(), topics.end(),
                            [&](const std::string &topic) { return text.starts_with(topic); }))
                expected.push_back(text);
        }
        ASSERT_NE(pub.send("end"), -1);
        ASSERT_EQ(received_until(sub, "end"), expected) << round;
    }
}

// ---- Through a relay ----

// Long enough that messages of one frame need not be looked at one by one.
TEST_P(xpub_filter, a_burst_passes_what_is_wanted_and_nothing_else) {
    pub.set(ZMQ_SNDHWM, 0);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_RCVHWM, 0);
    for (const std::string topic : {"a", "b/"})
        EXPECT_EQ(sub.set(ZMQ_SUBSCRIBE, topic), 0);
    sub.connect(pub.bind(scratch_endpoint(GetParam())));
    EXPECT_TRUE(pub.receive());
    EXPECT_TRUE(pub.receive());
    std::vector<std::string> wanted;
    for (int i = 0; i < 2000; ++i) {
        const std::string number = std::to_string(i);
        for (const std::string &text :
             {"a" + number, "c" + number, "b/" + number, "b" + number, std::string()}) {
            EXPECT_EQ(pub.send(text), static_cast<int>(text.size()));
            if (text[0] == 'a' || text.starts_with("b/"))
                wanted.push_back(text);
        }
        if (i % 100 == 0) {
            EXPECT_TRUE(pub.send_all({"a", "with more"}));
            EXPECT_TRUE(pub.send_all({"c", "a"}));
            const std::string large = "a" + std::string(20'000, 'x');
            EXPECT_EQ(pub.send(large), 20'001);
            wanted.insert(wanted.end(), {"a", "with more", large});
        }
    }
    EXPECT_EQ(pub.send("a, the last"), 11);
    EXPECT_TRUE(sub.has_input());
    EXPECT_EQ(received_until(sub, "a, the last"), wanted);
    EXPECT_FALSE(sub.has_input(0));
}

// This is about what a publisher sends of its own accord.
TEST_P(xpub_filter, a_subscriber_passes_over_what_it_did_not_ask_for) {
    pub.set(ZMQ_XPUB_MANUAL, 1);
    pub.set(ZMQ_SNDHWM, 0);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.set(ZMQ_RCVHWM, 0);
    sub.set(ZMQ_SUBSCRIBE, std::string("a"));
    sub.connect(pub.bind(scratch_endpoint(GetParam())));
    EXPECT_EQ(pub.receive(), subscription("a"));
    pub.set(ZMQ_SUBSCRIBE, std::string());
    std::vector<std::string> wanted;
    for (const std::string topic : {"a", "b", "a"}) {
        if (topic == "b") {
            sub.set(ZMQ_UNSUBSCRIBE, std::string("a"));
            sub.set(ZMQ_SUBSCRIBE, topic);
        }
        for (int i = 0; i < 500; ++i) {
            for (const char *first : {"a", "b", "c"})
                EXPECT_EQ(pub.send(first + topic), 2);
        }
        EXPECT_EQ(pub.send(topic + "last"), static_cast<int>(topic.size()) + 4);
        if (topic == "b") {
            EXPECT_EQ(received_until(sub, "blast"), std::vector<std::string>(500, "bb"));
            sub.set(ZMQ_SUBSCRIBE, std::string("a"));
        } else {
            auto found = received_until(sub, "alast");
            std::erase(found, "ba");
            EXPECT_EQ(found, std::vector<std::string>(500, "aa"));
        }
    }
}

TEST_P(xpub_filter, subscriptions_pass_through_a_relay) {
    test_socket front = zmq.socket(ZMQ_XPUB);
    test_socket back = zmq.socket(ZMQ_XSUB);
    back.connect(endpoint);
    test_socket sub = zmq.socket(ZMQ_SUB);
    sub.connect(front.bind(scratch_endpoint(GetParam())));
    sub.set(ZMQ_SUBSCRIBE, "a");
    const auto heard = front.receive();
    ASSERT_EQ(heard, subscription("a"));
    ASSERT_NE(back.send(*heard), -1);
    ASSERT_EQ(pub.receive(), subscription("a"));
    ASSERT_TRUE(pub.send_all({"abc", "body"}));
    const frames passing = back.receive_all();
    ASSERT_TRUE(front.send_all(passing));
    EXPECT_EQ(sub.receive_all(), (frames{"abc", "body"}));
    sub.set(ZMQ_UNSUBSCRIBE, "a");
    const auto cancelled = front.receive();
    ASSERT_EQ(cancelled, cancellation("a"));
    ASSERT_NE(back.send(*cancelled), -1);
    EXPECT_EQ(pub.receive(), cancellation("a"));
}

INSTANTIATE_TEST_SUITE_P(transports, xpub_filter, ::testing::ValuesIn(built_transports()), transport_name);

}  // namespace
