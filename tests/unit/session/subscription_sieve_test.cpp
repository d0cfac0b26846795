// Tests what a publisher that receives nothing else takes of the messages of its peers.
#include "session/subscription_sieve.hpp"

#include <gtest/gtest.h>

#include "fake_peers.hpp"

namespace zlink::test {

namespace {

const std::string a = "\1a", end_of_a = std::string("\0a", 2), passed_over;

/// Returns what comes out of one message.
std::vector<frames> sifted(const frames &message) {
    fake_network network;
    const fake_peer peer = network.connect();
    subscription_sieve sieve;
    for (std::size_t i = 0; i < message.size(); ++i)
        EXPECT_EQ(sieve.take(*peer.far, i + 1 < message.size(), as_bytes(message[i])), error::none);
    EXPECT_FALSE(sieve.is_inside());
    EXPECT_FALSE(peer.far->has_unpublished());
    return read_messages(*peer.near);
}

}  // namespace

TEST(subscription_sieve, passes_on_what_may_be_a_subscription) {
    EXPECT_EQ(sifted({a}), (std::vector<frames>{{a}}));
    EXPECT_EQ(sifted({end_of_a}), (std::vector<frames>{{end_of_a}}));
    EXPECT_EQ(sifted({a, end_of_a}), (std::vector<frames>{{a, end_of_a}}));
}

TEST(subscription_sieve, passes_on_nothing_of_a_message_without_any) {
    EXPECT_TRUE(sifted({"u"}).empty());
    EXPECT_TRUE(sifted({""}).empty());
    EXPECT_TRUE(sifted({"u", "", "v"}).empty());
}

TEST(subscription_sieve, lets_it_be_seen_that_one_was_not_the_first_of_its_message) {
    EXPECT_EQ(sifted({"u", "v", a, "w", end_of_a, "x", "y"}),
              (std::vector<frames>{{passed_over, a, end_of_a, passed_over}}));
    EXPECT_EQ(sifted({a, "u", "v"}), (std::vector<frames>{{a, passed_over}}));
}

TEST(subscription_sieve, says_whether_the_pipe_is_inside_a_message) {
    fake_network network;
    const fake_peer peer = network.connect();
    subscription_sieve sieve;
    EXPECT_EQ(sieve.take(*peer.far, true, as_bytes("u")), error::none);
    EXPECT_FALSE(sieve.is_inside());
    EXPECT_EQ(sieve.take(*peer.far, true, as_bytes(a)), error::none);
    EXPECT_TRUE(sieve.is_inside());
    EXPECT_FALSE(peer.near->has_input());
    EXPECT_EQ(sieve.take(*peer.far, false, as_bytes("u")), error::none);
    EXPECT_FALSE(sieve.is_inside());
    EXPECT_EQ(read_messages(*peer.near).size(), 1u);
}

}  // namespace zlink::test
