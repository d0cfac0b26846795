// Tests what a session knows of the peers before.
#include "session/acquaintance.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(acquaintance, begins_with_nobody) {
    const acquaintance it;
    EXPECT_FALSE(it.has_met());
    EXPECT_FALSE(it.has_met_by_pipe());
    EXPECT_FALSE(it.has_heard());
}

TEST(acquaintance, meets_a_peer_before_it_hears_of_it) {
    acquaintance it;
    it.hear();
    EXPECT_FALSE(it.has_heard()) << "there was nobody";
    it.meet();
    EXPECT_TRUE(it.has_met());
    EXPECT_TRUE(it.has_met_by_pipe());
    EXPECT_FALSE(it.has_heard());
    it.hear();
    EXPECT_TRUE(it.has_heard());
    EXPECT_TRUE(it.has_met_by_pipe());
}

TEST(acquaintance, keeps_what_the_pipe_has_brought_when_the_peer_comes_again) {
    acquaintance it;
    it.meet();
    it.hear();
    it.meet();
    EXPECT_TRUE(it.has_heard());
}

TEST(acquaintance, remembers_of_a_lost_pipe_only_that_there_was_a_peer) {
    for (const bool has_heard : {false, true}) {
        acquaintance it;
        it.meet();
        if (has_heard)
            it.hear();
        it.lose_pipe();
        EXPECT_TRUE(it.has_met());
        EXPECT_FALSE(it.has_met_by_pipe());
        EXPECT_FALSE(it.has_heard());
        it.hear();
        EXPECT_FALSE(it.has_heard()) << "the next pipe has had no peer yet";
        it.meet();
        EXPECT_TRUE(it.has_met_by_pipe());
        EXPECT_FALSE(it.has_heard());
    }
}

TEST(acquaintance, of_nobody_stays_that_when_the_pipe_is_lost) {
    acquaintance it;
    it.lose_pipe();
    EXPECT_FALSE(it.has_met());
}

}  // namespace
}  // namespace zlink
