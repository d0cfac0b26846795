// The set of topics a subscriber shares with its sessions.
#include <gtest/gtest.h>

#include "core/subscription_set.hpp"

namespace zlink::test {

TEST(subscription_set, counts_each_topic) {
    subscription_set set;
    set.with_lock([](subscription_set::topics &topics) {
        EXPECT_TRUE(topics.add(as_bytes("a")));
        EXPECT_FALSE(topics.add(as_bytes("a")));
        EXPECT_TRUE(topics.add(as_bytes("ab")));
    });
    EXPECT_EQ(set.size(), 2u);
    set.with_lock([](subscription_set::topics &topics) {
        EXPECT_FALSE(topics.remove(as_bytes("a")));
        EXPECT_TRUE(topics.remove(as_bytes("a")));
        EXPECT_FALSE(topics.remove(as_bytes("a")));
        EXPECT_FALSE(topics.remove(as_bytes("unknown")));
    });
    EXPECT_EQ(set.size(), 1u);
    EXPECT_FALSE(set.matches(as_bytes("a")));
    EXPECT_TRUE(set.matches(as_bytes("abc")));
}

TEST(subscription_set, lists_distinct_topics) {
    subscription_set set;
    set.with_lock([](subscription_set::topics &topics) {
        topics.add(as_bytes(""));
        topics.add(as_bytes("x"));
        topics.add(as_bytes("x"));
    });
    std::size_t seen = 0;
    std::as_const(set).with_lock(
        [&](const subscription_set::topics &topics) { topics.for_each([&](byte_span) { ++seen; }); });
    EXPECT_EQ(seen, 2u);
    EXPECT_TRUE(set.matches(as_bytes("anything")));
}

}  // namespace zlink::test
