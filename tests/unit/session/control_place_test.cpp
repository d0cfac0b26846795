// Tests where control octets may stand among messages.
#include "session/control_place.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(control_place, is_between_messages) {
    control_place place;
    EXPECT_TRUE(place.is_here());
    place.note_write(false);
    place.note_messages(10);
    EXPECT_FALSE(place.is_here());
    place.note_write(true);
    place.note_messages(10);
    EXPECT_TRUE(place.is_here());
    EXPECT_EQ(place.octets_since_end(), 0u);
}

TEST(control_place, is_behind_the_end_of_the_message_that_has_begun) {
    control_place place;
    EXPECT_FALSE(place.needs_message_end());
    place.note_write(false);
    place.note_messages(100);
    ASSERT_TRUE(place.needs_message_end());
    EXPECT_EQ(place.octets_since_end(), 100u);
    place.note_message_end(40);
    EXPECT_FALSE(place.needs_message_end()) << "it is known";
    EXPECT_FALSE(place.goes_beyond_end(40));
    EXPECT_TRUE(place.goes_beyond_end(41));
    place.note_write(false);
    place.note_messages(30);
    EXPECT_EQ(place.octets_to_end(), 10u);
    place.note_write(false);
    place.note_messages(15);
    EXPECT_EQ(place.octets_to_end(), 0u);
    EXPECT_EQ(place.octets_since_end(), 5u) << "of the next message";
}

TEST(control_place, is_here_at_once_where_the_message_turns_out_to_have_ended) {
    control_place place;
    place.note_write(false);
    place.note_messages(100);
    place.note_message_end(0);
    EXPECT_TRUE(place.is_here());
    EXPECT_EQ(place.octets_since_end(), 0u);
}

TEST(control_place, stays_until_all_that_has_begun_is_out) {
    control_place place;
    place.note_control(3);
    place.note_write(false);
    EXPECT_TRUE(place.is_here());
    EXPECT_EQ(place.written(), 3u);
    place.note_all_control();
    EXPECT_FALSE(place.is_here());
}

TEST(control_place, of_the_last_ones_is_the_end_of_all) {
    control_place place;
    EXPECT_FALSE(place.is_end(true));
    place.note_last();
    EXPECT_TRUE(place.is_end(false));
    place.note_write(false);
    EXPECT_FALSE(place.is_end(false)) << "the rest of a message stands in front of them";
    EXPECT_TRUE(place.is_end(true));
}

TEST(control_place, tells_others_that_they_wait) {
    control_place place;
    EXPECT_FALSE(place.is_waiting());
    place.note_waiting(true);
    EXPECT_TRUE(place.is_waiting());
}

}  // namespace
}  // namespace zlink
