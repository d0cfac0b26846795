// The room in a stream, and who waits for it where there is none. No stream, no thread.
#include "session/stream_room.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

TEST(stream_room, is_held_up_by_a_full_stream_and_by_another_thread) {
    stream_room room;
    EXPECT_FALSE(room.is_held_up());
    room.note_busy();
    EXPECT_TRUE(room.is_busy());
    EXPECT_TRUE(room.is_held_up());
    EXPECT_FALSE(room.is_full());
    room.look();
    EXPECT_FALSE(room.is_held_up()) << "the other thread may be gone";
    room.note_full();
    EXPECT_TRUE(room.is_full());
    EXPECT_FALSE(room.is_busy());
    room.look();
    EXPECT_TRUE(room.is_full()) << "nobody has said that it takes more";
}

TEST(stream_room, is_there_again_once_a_full_stream_was_said_to_take_more) {
    stream_room room;
    room.note_writable();
    room.note_full();
    room.look();
    EXPECT_TRUE(room.is_full()) << "said before it was full";
    room.note_writable();
    EXPECT_TRUE(room.is_full()) << "the turn is not held";
    room.look();
    EXPECT_FALSE(room.is_held_up());
    room.note_full();
    room.look();
    EXPECT_TRUE(room.is_full()) << "it is heard once";
}

TEST(stream_room, is_waited_for_by_the_loops_thread_unless_it_is_leased) {
    stream_room room;
    EXPECT_FALSE(room.take_wait());
    room.note_full();
    room.owe_wait();
    EXPECT_TRUE(room.owes_wait());
    EXPECT_FALSE(room.is_left_to_others());
    EXPECT_TRUE(room.take_wait());
    EXPECT_FALSE(room.take_wait());
    room.lease_out();
    EXPECT_TRUE(room.is_leased());
    EXPECT_TRUE(room.is_left_to_others()) << "who has the lease waits for what was full before it";
    room.try_again();
    EXPECT_FALSE(room.is_held_up());
    EXPECT_FALSE(room.is_left_to_others());
    room.note_full();
    room.owe_wait();
    room.end_lease();
    EXPECT_FALSE(room.is_leased());
    EXPECT_FALSE(room.is_left_to_others());
    EXPECT_TRUE(room.take_wait());
}

TEST(stream_room, is_owed_no_wait_by_a_lease_of_a_stream_that_takes_more) {
    stream_room room;
    room.note_full();
    room.note_writable();
    room.lease_out();
    EXPECT_FALSE(room.is_held_up());
    EXPECT_FALSE(room.owes_wait());
}

}  // namespace
}  // namespace zlink
