// The mailbox: order, wake-ups for sleepers only, and the end.
#include "socket/mailbox.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include "core/platform.hpp"
#include "lone_thread.hpp"

namespace zlink {
namespace {

using kind = mailbox::command_kind;

class mailbox_test : public ::testing::Test {
protected:
    // Commands hold pipes, and pipes their mailbox.
    void TearDown() override { box->close(); }

    bool is_raised() {
        wait_item item{box->level()->descriptor(), 1, 0, box->level(), 0};
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

TEST_F(mailbox_test, takes_back_all_about_a_pipe_that_is_still_to_be_attached) {
    std::vector<pipe_ends> pipes;
    for (int i = 0; i < 100; ++i) {
        pipes.push_back(connected_pipe());
        ASSERT_TRUE(box->post({kind::attach, pipes.back().first}));
    }
    for (int i = 0; i < 100; ++i) {
        if (i % 10 == 0)
            continue;
        box->on_closed(*pipes[i].first);
        EXPECT_TRUE(box->withdraw(*pipes[i].first));
        EXPECT_FALSE(box->withdraw(*pipes[i].first));
    }
    const pipe_ends last = connected_pipe();
    ASSERT_TRUE(box->post({kind::attach, last.first}));
    ASSERT_TRUE(box->post({kind::stop, nullptr}));
    box->withdraw(*pipes[50].first);
    std::vector<pipe_end *> attached;
    bool stops = false;
    for (const mailbox::command &what : take()) {
        EXPECT_NE(what.kind, kind::closed);
        stops |= what.kind == kind::stop;
        if (what.kind == kind::attach)
            attached.push_back(what.pipe.get());
    }
    EXPECT_TRUE(stops);
    std::vector<pipe_end *> expected;
    for (int i = 0; i < 100; i += 10) {
        if (i != 50)
            expected.push_back(pipes[i].first.get());
    }
    expected.push_back(last.first.get());
    EXPECT_EQ(attached, expected);
}

TEST_F(mailbox_test, keeps_little_of_pipes_that_come_and_go) {
    for (int i = 0; i < 1000; ++i) {
        const pipe_ends ends = connected_pipe();
        ASSERT_TRUE(box->post({kind::attach, ends.first}));
        box->on_closed(*ends.first);
        box->withdraw(*ends.first);
    }
    EXPECT_LE(take().size(), 1u);
}

TEST_F(mailbox_test, leaves_a_pipe_that_was_taken_and_tells_of_its_end) {
    const pipe_ends ends = connected_pipe();
    ASSERT_TRUE(box->post({kind::attach, ends.first}));
    ASSERT_EQ(take().size(), 1u);
    box->on_closed(*ends.first);
    box->withdraw(*ends.first);
    EXPECT_EQ(take().size(), 1u);
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
    box->keep_signalling(*waiter_);
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

TEST_F(mailbox_test, gives_the_pipes_that_nobody_will_attach_back_and_takes_no_more) {
    const pipe_ends ends = connected_pipe();
    EXPECT_TRUE(box->post({kind::stop, nullptr}));
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    const std::vector<mailbox::command> left = box->close();
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].pipe, ends.first);
    EXPECT_FALSE(box->has_commands());
    EXPECT_FALSE(box->post({kind::stop, nullptr}));
    EXPECT_FALSE(box->has_commands());
}

TEST_F(mailbox_test, gives_its_descriptor_back_when_it_is_closed) {
    for (const bool is_up : {false, true}) {
        box = std::make_shared<mailbox>();
        ASSERT_EQ(box->make_wakeup(*waiter_), error::none);
        const int descriptor = box->level()->descriptor();
        if (is_up) {
            box->keep_signalling(*waiter_);
            box->post({kind::stop, nullptr});
            EXPECT_TRUE(is_raised());
        }
        box->close();
        EXPECT_EQ(box->level(), nullptr);
        EXPECT_EQ(::fcntl(descriptor, F_GETFD), -1) << is_up;
    }
}

TEST_F(mailbox_test, leaves_its_descriptor_to_a_thread_that_is_about_to_use_it) {
    struct level_of_a_closed_mailbox final : wakeup {
        void signal() noexcept override {
            box->close();  // as another thread does meanwhile
            ASSERT_EQ(box->level(), this);
            is_up = true;
        }
        bool clear() noexcept override { return is_up; }
        int descriptor() const noexcept override { return -1; }
        mailbox *box = nullptr;
        bool is_up = false;
    };
    struct waiter_with_it final : test::lone_thread {
        error make_wakeup(std::unique_ptr<wakeup> &out) noexcept override {
            auto made = std::make_unique<level_of_a_closed_mailbox>();
            made->box = box;
            out = std::move(made);
            return error::none;
        }
        mailbox *box = nullptr;
    } waits;
    waits.box = box.get();
    ASSERT_EQ(box->make_wakeup(waits), error::none);
    ASSERT_TRUE(box->begin_wait());
    box->post({kind::stop, nullptr});
    EXPECT_NE(box->level(), nullptr);
}

TEST_F(mailbox_test, calls_when_there_may_be_room_and_for_nothing_else) {
    const pipe_ends ends = connected_pipe();
    int calls = 0;
    box->call_on_room([&] { ++calls; });
    EXPECT_TRUE(box->post({kind::readable, ends.first}));
    EXPECT_TRUE(box->post({kind::closed, ends.first}));
    EXPECT_EQ(calls, 0);
    EXPECT_TRUE(box->post({kind::writable, ends.first}));
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    EXPECT_EQ(calls, 2);
}

TEST_F(mailbox_test, calls_at_once_when_something_was_queued_before) {
    const pipe_ends ends = connected_pipe();
    EXPECT_TRUE(box->post({kind::attach, ends.first}));
    int calls = 0;
    box->call_on_room([&] { ++calls; });
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace zlink
