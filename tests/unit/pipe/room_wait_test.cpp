// Tests how long a sender waits for room for one large body. The test is the time.
#include "pipe/room_wait.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lone_thread.hpp"
#include "written_connection.hpp"

namespace zlink {
namespace {

/// A stream that is full. It takes nothing, whatever it says of room.
struct blocked_connection final : test::written_connection {
    using written_connection::written_connection;
    written write_now(writing &, occasion) noexcept override { return ++writes, written::full; }
    bool is_full() const noexcept override { return true; }
    int writes = 0;
};

class room_wait_test : public ::testing::Test, protected clock_source {
protected:
    time_point now() const noexcept override { return at_; }
    /// Milliseconds of each wait for a body of so many octets, until none may follow.
    std::vector<std::int64_t> waits_for(std::size_t octets, time_point deadline = time_point::max()) {
        room_wait room(sender, deadline);
        writing turn = ends.second->take_turn();
        EXPECT_TRUE(room.begin(*ends.first, turn, octets, false));
        std::vector<std::int64_t> all;
        for (time_point until; room.is_needed() && room.begin_wait(until);) {
            all.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(until - at_).count());
            at_ = until;
            room.end_wait(true);
        }
        return all;
    }

    using waits = std::vector<std::int64_t>;
    time_point at_{std::chrono::hours(1)};
    test::lone_thread thread{true};
    pace sender{*this, thread};
    const pipe_ends ends = make_pipe(chunk_pool::make(), {});
    blocked_connection connection{*ends.second};

private:
    void SetUp() override { ends.first->set_pace(&sender); }
};

TEST_F(room_wait_test, one_wait_may_take_about_a_quarter_of_what_all_of_them_may) {
    EXPECT_EQ(waits_for(64'000'000), (waits{17, 17, 17, 14}));
    EXPECT_EQ(connection.writes, 4);
}

TEST_F(room_wait_test, no_wait_takes_long_however_large_the_body) {
    EXPECT_EQ(waits_for(100'000'000), (waits{20, 20, 20, 20, 20, 1}));
}

TEST_F(room_wait_test, the_waits_end_with_the_time_that_the_sender_may_wait) {
    EXPECT_EQ(waits_for(64'000'000, at_ + std::chrono::milliseconds(25)), (waits{17, 8}));
    EXPECT_EQ(waits_for(64'000'000, at_), waits{});
}

TEST_F(room_wait_test, what_was_waited_counts_as_writing_a_large_body) {
    waits_for(64'000'000);
    EXPECT_EQ(thread.sends.in_large_writes, std::chrono::milliseconds(65));
}

TEST_F(room_wait_test, is_for_one_body_at_a_time_and_for_the_send_alone) {
    EXPECT_FALSE(sender.may_wait_for_room());
    {
        room_wait room(sender, time_point::max());
        EXPECT_TRUE(sender.may_wait_for_room());
        writing turn = ends.second->take_turn();
        EXPECT_TRUE(room.begin(*ends.first, turn, 1, false));
        EXPECT_FALSE(turn);
        EXPECT_FALSE(room.begin(*ends.first, turn, 1, false));
    }
    EXPECT_FALSE(sender.may_wait_for_room());
    EXPECT_TRUE(ends.second->take_turn()) << "it was given back";
}

}  // namespace
}  // namespace zlink
