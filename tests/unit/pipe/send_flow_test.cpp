// The memory of one sending end: told counts, it says what is due. No pipe, no thread.
#include "pipe/flow/send_flow.hpp"

#include <gtest/gtest.h>

namespace zlink {
namespace {

constexpr std::uint64_t without_limit = UINT64_MAX;

/// Plans after so many messages and octets, towards a batch of 1000 octets.
void plan(send_flow &flow, std::uint64_t written, std::uint64_t octets, std::uint64_t growth = 0) {
    flow.measure(written, octets);
    flow.plan_write({written, 0, 0, flow.octets_each() + growth, 1000});
}

TEST(send_flow, has_no_short_writes_before_they_are_allowed_and_none_after_a_sleeper) {
    send_flow flow;
    EXPECT_TRUE(flow.forbids_short_writes()) << "each publish has a fence at first";
    flow.end_fences();
    EXPECT_FALSE(flow.forbids_short_writes());
    EXPECT_FALSE(flow.may_write_short(0));
    plan(flow, 0, 0);
    flow.begin_backlog_window(0);
    flow.allow_short_writes(0, without_limit);
    EXPECT_TRUE(flow.may_write_short(0));
    flow.note_sleeper();
    EXPECT_FALSE(flow.may_write_short(0));
}

TEST(send_flow, ends_short_writes_at_the_first_of_what_is_due) {
    send_flow flow;
    plan(flow, 0, 0);
    flow.begin_backlog_window(0);
    flow.allow_short_writes(0, without_limit);
    EXPECT_TRUE(flow.may_write_short(63));
    EXPECT_FALSE(flow.may_write_short(64)) << "the backlog is to be looked at";
    plan(flow, 10, 490);  // 49 octets each: a batch is 20
    flow.begin_backlog_window(10);
    flow.allow_short_writes(10, without_limit);
    EXPECT_TRUE(flow.may_write_short(28));
    EXPECT_FALSE(flow.may_write_short(29)) << "the next is the last of a batch";
    flow.allow_short_writes(10, 15);
    EXPECT_TRUE(flow.may_write_short(14));
    EXPECT_FALSE(flow.may_write_short(15)) << "the mark";
    plan(flow, 10, 490, 950);
    flow.allow_short_writes(20, without_limit);
    EXPECT_FALSE(flow.may_write_short(20)) << "a write is overdue";
}

TEST(send_flow, is_in_a_stream_after_many_publishes_without_a_sleeper) {
    send_flow flow;
    for (int i = 0; i < 63; ++i)
        flow.note_publish();
    EXPECT_FALSE(flow.is_stream());
    flow.note_publish();
    EXPECT_TRUE(flow.is_stream());
    flow.note_sleeper();
    EXPECT_FALSE(flow.is_stream());
}

TEST(send_flow, begins_fences_once) {
    send_flow flow;
    EXPECT_FALSE(flow.begin_fences()) << "they are on from the first message";
    flow.end_fences();
    EXPECT_FALSE(flow.fences());
    EXPECT_TRUE(flow.begin_fences());
    EXPECT_FALSE(flow.begin_fences());
    EXPECT_TRUE(flow.fences());
}

TEST(send_flow, measures_messages_by_the_batch_before_without_what_nobody_copies) {
    send_flow flow;
    plan(flow, 0, 0);
    flow.leave_out(5000);
    plan(flow, 10, 5990);
    EXPECT_EQ(flow.octets_each(), 99u);
    EXPECT_FALSE(flow.is_write_due(19));
    EXPECT_TRUE(flow.is_write_due(20));
    flow.take_back(5000);  // rolled back, with as many octets
    plan(flow, 20, 990 + 490);
    EXPECT_EQ(flow.octets_each(), 49u);
    flow.roll_back_to(1000);
    plan(flow, 30, 1500);
    EXPECT_EQ(flow.octets_each(), 50u);
    plan(flow, 30, 9999);
    EXPECT_EQ(flow.octets_each(), 50u) << "no message, no measure";
}

TEST(send_flow, knows_what_is_under_way_of_large_bodies) {
    send_flow flow;
    flow.end_fences();
    flow.note_large(300);
    flow.note_large(200);
    EXPECT_TRUE(flow.has_large());
    EXPECT_TRUE(flow.forbids_short_writes());
    EXPECT_EQ(flow.take_large(), 500u);
    EXPECT_FALSE(flow.has_large());
    flow.note_published(flow.large_published() + 500);
    EXPECT_EQ(flow.large_under_way(100), 400u);
    EXPECT_EQ(flow.large_under_way(700), 0u) << "what was taken was published";
    EXPECT_EQ(flow.large_published(), 700u);
}

TEST(send_flow, looks_how_far_it_is_ahead_once_in_a_window) {
    send_flow flow;
    EXPECT_TRUE(flow.is_backlog_check_due(0));
    flow.begin_backlog_window(0);
    EXPECT_FALSE(flow.is_backlog_check_due(63));
    EXPECT_TRUE(flow.is_backlog_check_due(64)) << "nothing is known of their size";
    plan(flow, 10, 10 * 1023);
    flow.begin_backlog_window(10);
    EXPECT_FALSE(flow.is_backlog_check_due(10 + 511));
    EXPECT_TRUE(flow.is_backlog_check_due(10 + 512)) << "512 KiB";
    plan(flow, 20, 10 * 1023);
    flow.begin_backlog_window(20);
    EXPECT_FALSE(flow.is_backlog_check_due(20 + 1023));
    EXPECT_TRUE(flow.is_backlog_check_due(20 + 1024));
}

TEST(send_flow, notes_that_it_is_full_once_for_as_many_messages) {
    send_flow flow;
    EXPECT_TRUE(flow.note_fullness(7));
    EXPECT_FALSE(flow.note_fullness(7));
    EXPECT_TRUE(flow.note_fullness(8));
}

TEST(send_flow, knows_whether_the_peer_has_sent_something_since) {
    send_flow flow;
    EXPECT_FALSE(flow.has_taken_since(0));
    EXPECT_TRUE(flow.has_taken_since(1));
    flow.note_taken((1ull << 32) + 1);
    EXPECT_FALSE(flow.has_taken_since((1ull << 32) + 1));
}

}  // namespace
}  // namespace zlink
