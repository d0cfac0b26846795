// Topics and the pipes that subscribe to them, against a naive model.
#include <gtest/gtest.h>

#include <map>
#include <new>
#include <random>
#include <set>

#include "fake_peers.hpp"
#include "socket/subscriptions.hpp"

namespace zlink::test {

namespace {

std::set<pipe_end *> matched(const subscriptions &s, std::string_view text) {
    std::set<pipe_end *> found;
    s.match(as_bytes(text), [&](pipe_end &pipe) { found.insert(&pipe); });
    return found;
}

}  // namespace

TEST(subscriptions, count_a_pipe_once_for_a_topic) {
    fake_network network;
    fake_peer a = network.connect(), b = network.connect();
    subscriptions s;
    EXPECT_EQ(s.add(as_bytes("t"), *a.near), subscriptions::addition::first);
    EXPECT_EQ(s.add(as_bytes("t"), *a.near), subscriptions::addition::repeated);
    EXPECT_EQ(s.add(as_bytes("t"), *b.near), subscriptions::addition::another);
    EXPECT_EQ(s.topics(), 1u);
    EXPECT_EQ(s.remove(as_bytes("t"), *a.near), subscriptions::removal::others_remain);
    EXPECT_EQ(s.remove(as_bytes("t"), *a.near), subscriptions::removal::unknown);
    EXPECT_EQ(s.remove(as_bytes("u"), *b.near), subscriptions::removal::unknown);
    EXPECT_EQ(s.remove(as_bytes("t"), *b.near), subscriptions::removal::last);
    EXPECT_EQ(s.topics(), 0u);
}

TEST(subscriptions, tell_which_topics_end_with_a_pipe) {
    fake_network network;
    fake_peer a = network.connect(), b = network.connect();
    subscriptions s;
    (void)s.add(as_bytes("shared"), *a.near);
    (void)s.add(as_bytes("shared"), *b.near);
    (void)s.add(as_bytes("own"), *a.near);
    std::map<std::string, bool> ended;
    s.remove_all(*a.near, [&](byte_span topic, bool was_last) { ended.emplace(as_text(topic), was_last); });
    EXPECT_EQ(ended, (std::map<std::string, bool>{{"shared", false}, {"own", true}}));
    EXPECT_EQ(matched(s, "shared"), std::set<pipe_end *>{b.near.get()});
    EXPECT_TRUE(matched(s, "own").empty());
}

TEST(subscriptions, never_match_a_pipe_whose_removal_was_cut_short) {
    fake_network network;
    fake_peer a = network.connect(), b = network.connect();
    subscriptions s;
    for (const char *topic : {"p", "q", "r", "shared"})
        (void)s.add(as_bytes(topic), *a.near);
    (void)s.add(as_bytes("shared"), *b.near);
    (void)s.add(as_bytes("own"), *b.near);
    EXPECT_THROW(s.remove_all(*a.near, [](byte_span, bool) { throw std::bad_alloc(); }), std::bad_alloc);
    for (const char *topic : {"p", "q", "r"})
        EXPECT_TRUE(matched(s, topic).empty());
    EXPECT_EQ(matched(s, "shared"), std::set<pipe_end *>{b.near.get()});
    s.remove_all(*a.near, [](byte_span, bool) {});
    EXPECT_EQ(s.topics(), 2u);
    EXPECT_EQ(s.add(as_bytes("p"), *a.near), subscriptions::addition::first);
    EXPECT_EQ(s.remove(as_bytes("shared"), *b.near), subscriptions::removal::last);
}

TEST(subscriptions, know_what_a_pipe_has_that_changes_its_mind) {
    fake_network network;
    fake_peer a = network.connect(), b = network.connect();
    subscriptions s;
    for (int i = 0; i < 2000; ++i)
        (void)s.add(as_bytes(std::to_string(i)), *b.near);
    for (int round = 0; round < 3; ++round) {
        (void)s.add(as_bytes("kept"), *a.near);
        (void)s.add(as_bytes("7"), *a.near);
        for (int i = 0; i < 1000; ++i) {
            (void)s.add(as_bytes(std::to_string(i % 10)), *a.near);
            if (i % 10 != 7)
                (void)s.remove(as_bytes(std::to_string(i % 10)), *a.near);
        }
        std::map<std::string, bool> ended;
        s.remove_all(*a.near,
                     [&](byte_span topic, bool was_last) { ended.emplace(as_text(topic), was_last); });
        EXPECT_EQ(ended, (std::map<std::string, bool>{{"kept", true}, {"7", false}}));
        EXPECT_EQ(s.topics(), 2000u);
    }
}

TEST(subscriptions, match_like_a_naive_model) {
    fake_network network;
    std::vector<fake_peer> peers;
    for (int i = 0; i < 12; ++i)
        peers.push_back(network.connect());
    std::mt19937 random(7);
    subscriptions s;
    std::map<std::string, std::set<pipe_end *>> model;
    const auto some_topic = [&] {
        std::string topic(random() % 6, ' ');
        for (char &c : topic)
            c = static_cast<char>("abc\0\xff"[random() % 5]);
        return topic;
    };
    for (int step = 0; step < 60000; ++step) {
        pipe_end &pipe = *peers[random() % peers.size()].near;
        const std::string topic = some_topic();
        const unsigned what = random() % 100;
        if (what < 45) {
            const bool is_new = model[topic].empty();
            const bool was_there = !model[topic].insert(&pipe).second;
            ASSERT_EQ(s.add(as_bytes(topic), pipe), was_there ? subscriptions::addition::repeated
                                                    : is_new  ? subscriptions::addition::first
                                                              : subscriptions::addition::another);
        } else if (what < 70) {
            const auto at = model.find(topic);
            const bool was_there = at != model.end() && at->second.erase(&pipe) > 0;
            const bool is_last = was_there && at->second.empty();
            if (at != model.end() && at->second.empty())
                model.erase(at);
            ASSERT_EQ(s.remove(as_bytes(topic), pipe), !was_there ? subscriptions::removal::unknown
                                                       : is_last  ? subscriptions::removal::last
                                                                  : subscriptions::removal::others_remain);
        } else if (what < 72) {
            std::map<std::string, bool> expected, seen;
            for (auto at = model.begin(); at != model.end();) {
                if (at->second.erase(&pipe) > 0)
                    expected.emplace(at->first, at->second.empty());
                at = at->second.empty() ? model.erase(at) : std::next(at);
            }
            s.remove_all(pipe, [&](byte_span t, bool was_last) { seen.emplace(as_text(t), was_last); });
            ASSERT_EQ(seen, expected);
        } else {
            std::set<pipe_end *> expected;
            for (const auto &[t, pipes] : model) {
                if (topic.starts_with(t))
                    expected.insert(pipes.begin(), pipes.end());
            }
            ASSERT_EQ(matched(s, topic), expected);
        }
        ASSERT_EQ(s.topics(), model.size());
    }
}

}  // namespace zlink::test
