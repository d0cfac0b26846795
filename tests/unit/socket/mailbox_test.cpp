// The mailbox: order, wake-ups for sleepers only, and the end.
#include "socket/mailbox.hpp"

#include <gtest/gtest.h>

#include "core/platform.hpp"

namespace zlink {
namespace {

using kind = mailbox::command_kind;

class mailbox_test : public ::testing::Test {
protected:
    // Commands hold pipes, and pipes their mailbox.
    void TearDown() override { box->close(); }

    bool is_raised() {
        wait_item item{box->level()->descriptor(), 1, 0, box->level()};
        return waiter_->wait({&item, 1}, time_point::min()) == error::none;
    }
    std::vector<mailbox::command> take() {
        std::vector<mailbox::command> all;
        box->take(all);
        return all;
    }
    pipe_ends connected_pipe() {
        pipe_ends ends = make_pipe(pool, {});
        ends.first->set_events(box);
        return ends;
    }

    std::shared_ptr<chunk_pool> pool = chunk_pool::make();
    std::unique_ptr<waiter> waiter_ = platform::make_waiter(platform::steady_clock());
    std::shared_ptr<mailbox> box = std::make_shared<mailbox>();
};

TEST_F(mailbox_test, hands_over_everything_in_order_and_is_empty_afterwards) {
    const pipe_ends ends = connected_pipe();
    EXPECT_FALSE(box->has_commands());
    box->on_readable(*ends.first);
    box->on_writable(*ends.first);
    box->on_closed(*ends.first);
    EXPECT_TRUE(box->has_commands());

    const auto all = take();
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].kind, kind::readable);
    EXPECT_EQ(all[1].kind, kind::writable);
    EXPECT_EQ(all[2].kind, kind::closed);
    EXPECT_EQ(all[0].pipe, ends.first);
    EXPECT_FALSE(box->has_commands());
    EXPECT_TRUE(take().empty());
}

TEST_F(mailbox_test, raises_the_level_for_a_sleeper_only) {
    ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    EXPECT_FALSE(is_raised());
    (void)take();

    ASSERT_TRUE(box->begin_wait());
    EXPECT_FALSE(is_raised());
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    EXPECT_TRUE(is_raised());
    box->end_wait();
    (void)take();
    EXPECT_FALSE(is_raised());
}

TEST_F(mailbox_test, does_not_let_a_thread_sleep_on_unread_commands) {
    ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    EXPECT_FALSE(box->begin_wait());
    box->end_wait();
    (void)take();
    EXPECT_TRUE(box->begin_wait());
    box->end_wait();
}

TEST_F(mailbox_test, raises_the_level_for_every_first_command_once_asked_to) {
    ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    box->keep_signalling();
    EXPECT_TRUE(is_raised()) << "what was there before counts";
    (void)take();
    EXPECT_FALSE(is_raised());
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    EXPECT_TRUE(is_raised());
}

TEST_F(mailbox_test, keeps_one_level_however_often_it_is_asked_for) {
    ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
    const wakeup *first = box->level();
    ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
    EXPECT_EQ(box->level(), first);
}

TEST_F(mailbox_test, closes_the_pipes_that_nobody_will_attach_and_takes_no_more) {
    const pipe_ends ends = connected_pipe();
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    box->close();
    EXPECT_TRUE(ends.second->is_peer_closed());
    EXPECT_FALSE(box->has_commands());
    EXPECT_FALSE(box->post({kind::stop, nullptr}));
    EXPECT_FALSE(box->has_commands());
}

TEST_F(mailbox_test, calls_when_a_pipe_is_queued_and_for_nothing_else) {
    const pipe_ends ends = connected_pipe();
    int calls = 0;
    box->call_on_attach([&] { ++calls; });
    EXPECT_TRUE(box->post({kind::readable, ends.first}));
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    EXPECT_EQ(calls, 1);
}

TEST_F(mailbox_test, calls_at_once_when_something_was_queued_before) {
    const pipe_ends ends = connected_pipe();
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    int calls = 0;
    box->call_on_attach([&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace zlink
