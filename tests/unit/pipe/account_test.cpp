// Rows of facts and what the account says of them: marks, steps, octets, and looks from another
// thread.
#include "pipe/account.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "effort.hpp"

namespace zlink {
namespace {

TEST(writers_account, says_how_many_messages_go_before_the_mark) {
    struct {
        std::uint64_t mark, written, returned;
        bool has_room;
        std::uint64_t credit, full_at;
    } const rows[] = {
        {0, 0, 0, true, UINT64_MAX, UINT64_MAX},  // no mark
        {0, 1000, 0, true, UINT64_MAX, UINT64_MAX},
        {1, 0, 0, true, 1, 1},
        {1, 1, 0, false, 0, 1},
        {1, 1, 1, true, 1, 2},
        {10, 9, 0, true, 1, 10},
        {10, 10, 0, false, 0, 10},
        {10, 10, 5, true, 5, 15},
        {3, 10, 0, false, 0, 10},  // the mark was lowered since
        {UINT64_MAX, 7, 0, true, UINT64_MAX - 7, UINT64_MAX},
    };
    for (const auto &row : rows) {
        writers_account account;
        account.write(row.written);
        account.hear(row.returned);
        EXPECT_EQ(account.has_room(row.mark), row.has_room) << row.mark << ' ' << row.written;
        EXPECT_EQ(account.credit(row.mark), row.credit) << row.mark << ' ' << row.written;
        EXPECT_EQ(account.full_at(row.mark), row.full_at) << row.mark << ' ' << row.written;
    }
}

TEST(writers_account, is_beyond_a_mark_by_what_was_returned_just_now) {
    writers_account account;
    account.write(11);
    EXPECT_TRUE(account.is_beyond(10, 0));
    EXPECT_FALSE(account.is_beyond(10, 1));
    EXPECT_FALSE(account.is_beyond(0, 0));
}

TEST(writers_account, forgets_what_is_rolled_back) {
    writers_account account;
    account.write(2);
    account.publish();
    account.write(3);
    EXPECT_TRUE(account.has_unpublished());
    account.roll_back();
    EXPECT_EQ(account.written(), 2u);
    account.write_at_once();
    EXPECT_EQ(account.published(), 3u);
    EXPECT_FALSE(account.has_unpublished());
}

TEST(readers_account, tells_once_in_half_a_mark) {
    struct {
        std::uint64_t mark, step;
    } const rows[] = {{0, 1024}, {1, 1}, {2, 1}, {3, 2}, {10, 5}, {1000, 500}, {4001, 2001}};
    for (const auto &row : rows) {
        EXPECT_EQ(readers_account::step(row.mark), row.step);
        readers_account account;
        account.put_off(row.mark);
        for (int round = 0; round < 3; ++round) {
            for (std::uint64_t i = 1; i < row.step; ++i) {
                // For the writer, who may want to know how far it is.
                if (account.take(1))
                    account.put_off(row.mark);
                EXPECT_FALSE(account.owes(row.mark, 0));
            }
            EXPECT_TRUE(account.take(1));
            EXPECT_TRUE(account.owes(row.mark, 0));
            account.tell(0);
            account.put_off(row.mark);
        }
    }
}

TEST(readers_account, shows_how_far_it_is_once_in_1024_messages) {
    readers_account account;
    account.put_off(10'000);
    for (int i = 1; i < 1024; ++i)
        ASSERT_FALSE(account.take(1));
    EXPECT_FALSE(account.may_take_at_once());
    EXPECT_TRUE(account.take(1));
    EXPECT_FALSE(account.owes(10'000, 0));
    account.put_off(10'000);
    EXPECT_TRUE(account.may_take_at_once());
}

TEST(readers_account, tells_after_8_mebioctets_of_large_bodies_and_not_in_the_middle_of_a_message) {
    constexpr std::uint64_t most = readers_account::most_octets_untold;
    readers_account account;
    account.put_off(1000);
    account.note_large(most - 1);
    EXPECT_FALSE(account.take(1));
    account.tell(most - 1);
    account.put_off(1000);
    account.note_large(2 * most - 1);
    EXPECT_FALSE(account.owes(1000, 2 * most - 1)) << "no message has ended";
    EXPECT_TRUE(account.take(1));
    EXPECT_TRUE(account.owes(1000, 2 * most - 1));
}

TEST(readers_account, owes_no_more_after_the_mark_was_raised_and_more_after_it_was_lowered) {
    readers_account account;
    account.put_off(100);
    EXPECT_FALSE(account.take(40));
    EXPECT_FALSE(account.owes(100, 0));
    EXPECT_TRUE(account.owes(10, 0));
    EXPECT_TRUE(account.is_ahead());
    account.tell(0);
    EXPECT_FALSE(account.is_ahead());
}

TEST(octets_before, may_be_less_than_nothing_for_a_while) {
    octets_before before;
    std::uint64_t within = 26;
    before.add(std::uint64_t{3} - 26);
    EXPECT_EQ(before.with([&] { return within; }), 3u);
    before.move_to(before + within, 0, [&] { within = 0; });
    EXPECT_EQ(before, 3u);
    EXPECT_EQ(before.with([&] { return within; }), 3u);
}

TEST(octets_before, shows_another_thread_no_sum_that_never_was) {
    octets_before before;
    single_writer within;
    std::atomic<bool> is_over = false;
    std::thread observer([&] {
        std::uint64_t last = 0;
        bool went_back = false;
        while (!is_over.load(std::memory_order_relaxed)) {
            const std::uint64_t seen = before.with([&] { return within.look(); });
            went_back = went_back || seen < last;
            last = seen;
        }
        EXPECT_FALSE(went_back);
        EXPECT_LE(last, before.with([&] { return within.look(); }));
    });
    const int rounds = zlink_test::effort(200'000, 20'000);
    for (int i = 0; i < rounds; ++i) {
        within += 5;
        within += 7;
        before.move_to(before + within, 0, [&] { within = 0; });
    }
    is_over = true;
    observer.join();
    EXPECT_EQ(before, 12u * static_cast<unsigned>(rounds));
}

TEST(passage, says_what_is_under_way_and_never_less_than_nothing) {
    EXPECT_EQ((passage{{5, 500}, {2, 200}}).under_way(), (amount{3, 300}));
    EXPECT_EQ((passage{{5, 500}, {6, 400}}).under_way(), (amount{0, 100}));
}

}  // namespace
}  // namespace zlink
