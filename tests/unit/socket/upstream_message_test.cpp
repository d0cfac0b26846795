// The frames of a message upstream that may change subscriptions.
#include "socket/upstream_message.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(upstream_message, may_always_subscribe_by_its_first_frame) {
    upstream_message it;
    EXPECT_FALSE(it.is_inside());
    EXPECT_TRUE(it.may_subscribe());
    it.pass(false, false);
    EXPECT_FALSE(it.is_inside());
    EXPECT_TRUE(it.may_subscribe());
}

TEST(upstream_message, has_by_its_first_frame_what_the_others_may) {
    for (const bool may : {true, false}) {
        upstream_message it;
        it.pass(true, may);
        EXPECT_TRUE(it.is_inside());
        EXPECT_EQ(it.may_subscribe(), may);
        it.pass(true, !may);
        EXPECT_EQ(it.may_subscribe(), may) << "the first frame decides";
        it.pass(false, !may);
        EXPECT_FALSE(it.is_inside());
        EXPECT_TRUE(it.may_subscribe());
    }
}

TEST(upstream_message, is_over_when_the_rest_does_not_come) {
    upstream_message it;
    it.pass(true, false);
    it.cut();
    EXPECT_FALSE(it.is_inside());
    EXPECT_TRUE(it.may_subscribe());
}

}  // namespace
}  // namespace zlink
