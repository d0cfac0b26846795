// The write turn and the read lease: every transition, one thread after the other.
#include "pipe/write_turn.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "pipe/read_lease.hpp"

namespace zlink {
namespace {

// ---- the write turn ----

TEST(write_turn, is_taken_by_one_at_a_time) {
    write_turn turn;
    EXPECT_TRUE(turn.try_take());
    EXPECT_FALSE(turn.try_take());
    EXPECT_FALSE(turn.take_or_request());
    (void)turn.give();
    EXPECT_TRUE(turn.take_or_request());
    EXPECT_FALSE(turn.try_take());
}

TEST(write_turn, tells_the_holder_of_a_mark_once) {
    write_turn turn;
    ASSERT_TRUE(turn.try_take());
    EXPECT_FALSE(turn.take_or_request());
    EXPECT_FALSE(turn.take_or_request());
    EXPECT_TRUE(turn.give());
    ASSERT_TRUE(turn.try_take());
    EXPECT_FALSE(turn.give()) << "the mark was taken with the turn before";
}

TEST(write_turn, is_not_marked_by_a_try_or_by_who_gets_it) {
    write_turn turn;
    ASSERT_TRUE(turn.try_take());
    EXPECT_FALSE(turn.try_take());
    EXPECT_FALSE(turn.give());
    ASSERT_TRUE(turn.take_or_request());
    EXPECT_FALSE(turn.give());
    ASSERT_TRUE(turn.take_or_request());
    EXPECT_FALSE(turn.take_or_request());
    EXPECT_TRUE(turn.give());
}

TEST(write_turn, is_claimed_at_once_where_nobody_has_it) {
    write_turn turn;
    EXPECT_TRUE(turn.claim());
    EXPECT_FALSE(turn.try_take());
    EXPECT_FALSE(turn.give());
    EXPECT_TRUE(turn.try_take());
}

TEST(write_turn, is_left_by_its_holder_to_who_claimed_it_and_to_nobody_else) {
    write_turn turn;
    ASSERT_TRUE(turn.try_take());
    EXPECT_FALSE(turn.claim());
    EXPECT_FALSE(turn.claim());
    EXPECT_FALSE(turn.take_or_request());
    EXPECT_TRUE(turn.give()) << "who claimed it is to be told";
    EXPECT_FALSE(turn.try_take());
    EXPECT_FALSE(turn.take_or_request());
    EXPECT_TRUE(turn.claim());
    EXPECT_FALSE(turn.try_take());
    (void)turn.give();
    ASSERT_TRUE(turn.try_take()) << "the next connection of the pipe begins anew";
    EXPECT_FALSE(turn.give());
}

TEST(write_turn, shows_what_the_holder_did_to_the_next_holder_and_to_who_left_the_mark) {
    write_turn turn;
    int guarded = 0;
    constexpr int rounds = 20000;
    const auto add = [&] {
        for (int i = 0; i < rounds;) {
            if (!(i % 2 ? turn.try_take() : turn.take_or_request()))
                continue;
            ++guarded;
            (void)turn.give();
            ++i;
        }
    };
    std::thread other(add);
    add();
    other.join();
    EXPECT_EQ(guarded, 2 * rounds);
}

// ---- the read lease ----

TEST(read_lease, is_at_home_at_first) {
    read_lease lease;
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_FALSE(lease.is_wanted());
    EXPECT_FALSE(lease.is_used());
    EXPECT_FALSE(lease.is_recalled());
    EXPECT_FALSE(lease.begin_use());
    EXPECT_TRUE(lease.recall());
    EXPECT_EQ(lease.uses(), 0u);
}

TEST(read_lease, is_asked_for_once) {
    read_lease lease;
    EXPECT_TRUE(lease.ask());
    EXPECT_FALSE(lease.ask()) << "the I/O thread knows";
    EXPECT_TRUE(lease.is_wanted());
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_TRUE(lease.recall());
    EXPECT_TRUE(lease.is_wanted()) << "what is not leased need not be called back";
    EXPECT_FALSE(lease.begin_use());
}

TEST(read_lease, can_be_asked_for_again_after_a_refusal) {
    read_lease lease;
    ASSERT_TRUE(lease.ask());
    lease.refuse();
    EXPECT_FALSE(lease.is_wanted());
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_FALSE(lease.begin_use());
    EXPECT_TRUE(lease.ask());
}

/// A lease that was asked for and granted, and is watched.
struct granted_lease : read_lease {
    granted_lease() {
        EXPECT_TRUE(ask());
        watch();
        grant();
    }
};

TEST(read_lease, is_used_and_kept) {
    granted_lease lease;
    EXPECT_FALSE(lease.owns_reading());
    EXPECT_FALSE(lease.is_wanted());
    EXPECT_FALSE(lease.is_used());
    EXPECT_FALSE(lease.ask()) << "it is lent already";
    for (std::uint32_t i = 1; i < 4; ++i) {
        ASSERT_TRUE(lease.begin_use());
        EXPECT_TRUE(lease.is_used());
        EXPECT_FALSE(lease.owns_reading());
        EXPECT_FALSE(lease.begin_use()) << "it is in use already";
        EXPECT_FALSE(lease.ask());
        lease.note_use();
        EXPECT_EQ(lease.uses(), i);
        EXPECT_FALSE(lease.end_use(true)) << "nobody need be told";
        EXPECT_FALSE(lease.is_used());
        EXPECT_FALSE(lease.owns_reading());
    }
}

TEST(read_lease, counts_no_use_that_nobody_notes) {
    granted_lease lease;
    ASSERT_TRUE(lease.begin_use());
    EXPECT_TRUE(lease.is_used());
    EXPECT_EQ(lease.uses(), 0u);
    EXPECT_FALSE(lease.end_use(true));
}

TEST(read_lease, ends_when_its_user_says_so) {
    granted_lease lease;
    ASSERT_TRUE(lease.begin_use());
    EXPECT_TRUE(lease.end_use(false)) << "the I/O thread is to be told";
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_FALSE(lease.is_used());
    EXPECT_FALSE(lease.begin_use());
    EXPECT_TRUE(lease.ask());
}

TEST(read_lease, comes_home_at_once_when_it_is_not_in_use) {
    granted_lease lease;
    EXPECT_TRUE(lease.recall());
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_FALSE(lease.is_recalled());
    EXPECT_FALSE(lease.begin_use());
    EXPECT_TRUE(lease.recall()) << "again";
}

TEST(read_lease, comes_home_after_the_use_when_it_is_called_back_in_use) {
    granted_lease lease;
    ASSERT_TRUE(lease.begin_use());
    EXPECT_FALSE(lease.recall());
    EXPECT_FALSE(lease.recall()) << "still in use";
    EXPECT_TRUE(lease.is_recalled());
    EXPECT_TRUE(lease.is_used()) << "to its user";
    EXPECT_FALSE(lease.owns_reading());
    EXPECT_FALSE(lease.begin_use());
    EXPECT_FALSE(lease.ask());
    EXPECT_TRUE(lease.end_use(true)) << "who wants to keep it cannot";
    EXPECT_TRUE(lease.owns_reading());
    EXPECT_FALSE(lease.is_recalled());
    EXPECT_TRUE(lease.recall());
}

TEST(read_lease, its_user_says_when_it_leaves_what_is_not_watched) {
    granted_lease lease;
    ASSERT_TRUE(lease.begin_use());
    EXPECT_TRUE(lease.stop_watching());
    EXPECT_TRUE(lease.end_use(true)) << "nobody looks after it";
    EXPECT_FALSE(lease.owns_reading()) << "and it is kept";
    lease.watch();
    ASSERT_TRUE(lease.begin_use());
    EXPECT_FALSE(lease.end_use(true));
}

TEST(read_lease, must_be_watched_on_when_its_user_has_left) {
    granted_lease lease;
    ASSERT_TRUE(lease.begin_use());
    EXPECT_FALSE(lease.end_use(true));
    EXPECT_FALSE(lease.stop_watching());
}

/// Two threads, as in life: one borrows and leaves, the other grants, watches and calls back.
/// Whoever holds the lease, or owns the reading half, adds to a plain number.
TEST(read_lease, belongs_to_one_thread_at_a_time) {
    read_lease lease;
    int guarded = 0;
    std::atomic<int> uses{0};
    bool is_lent = false;  // as the lender knows it
    std::atomic<bool> is_over{false};
    int at_home = 0;
    std::thread lender([&] {
        // Uses; the lender does not call back before, or the borrower might never come to it.
        int awaited = 0;
        for (unsigned i = 0; !is_over.load(std::memory_order_relaxed) || is_lent; ++i) {
            if (!is_lent) {
                ++guarded;
                ++at_home;
                if (lease.is_wanted()) {
                    is_lent = true;
                    awaited = uses.load(std::memory_order_relaxed) + at_home % 2;
                    lease.grant();
                }
            } else if (lease.owns_reading()) {
                is_lent = false;
            } else if (is_over.load(std::memory_order_relaxed) ||
                       uses.load(std::memory_order_relaxed) >= awaited) {
                is_lent = !lease.recall();
            }
            if (i % 16 == 0)
                std::this_thread::yield();
        }
    });
    while (uses.load(std::memory_order_relaxed) < 2000) {
        if (lease.begin_use()) {
            ++guarded;
            const int use = uses.fetch_add(1, std::memory_order_relaxed) + 1;
            (void)lease.end_use(use % 4 != 0);
        } else {
            (void)lease.ask();
            std::this_thread::yield();
        }
    }
    is_over = true;
    lender.join();
    EXPECT_EQ(guarded, uses + at_home);
}

}  // namespace
}  // namespace zlink
