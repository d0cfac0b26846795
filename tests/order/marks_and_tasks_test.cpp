// The joint mark of a pipe (pipe_direction::join_shares) and a task that is posted twice
// (reactor/task_list.hpp), in every order of their steps. The steps are written out.
#include <gtest/gtest.h>

#include "order/memory_model.hpp"

namespace zlink::order {

namespace {

outcome marks_set_from_both_ends(std::memory_order by) {
    return explore([by] {
        struct direction {
            atomic<int> writers_share{1}, readers_share{1}, hwm{2};
        };
        auto it = std::make_shared<direction>();
        const auto join = [=] {
            int writers = 0, readers = 0;
            do {
                writers = it->writers_share.load(by);
                readers = it->readers_share.load(by);
                it->hwm.store(writers + readers, by);
            } while (writers != it->writers_share.load(by) || readers != it->readers_share.load(by));
        };
        const auto writer = [=] {
            it->writers_share.store(10, by);
            join();
        };
        const auto reader = [=] {
            it->readers_share.store(20, by);
            join();
        };
        return program{{writer, reader}, [=] { expect(it->hwm.load() == 30, "a mark that is not the sum"); }};
    });
}

}  // namespace

TEST(marks, are_the_sum_of_both_shares_whoever_sets_his_last) {
    const outcome all = marks_set_from_both_ends(seq_cst);
    EXPECT_EQ(all.failure, "");
    EXPECT_EQ(all.left, 0u);
    EXPECT_NE(marks_set_from_both_ends(acquire).failure, "");
}

namespace {

/// The writer awaits a drain, and wants to be told of each message, while the reader changes its
/// share: a mark of 1 has to stand in the end.
outcome drain_beside_a_mark(std::memory_order by) {
    return explore([by] {
        struct direction {
            atomic<int> readers_share{1}, hwm{1000};
            atomic<bool> is_drain_awaited{false};
        };
        auto it = std::make_shared<direction>();
        const auto join = [=] {
            int readers = 0;
            bool is_awaited = false;
            do {
                readers = it->readers_share.load(by);
                is_awaited = it->is_drain_awaited.load(by);
                it->hwm.store(is_awaited ? 1 : readers, by);
            } while (readers != it->readers_share.load(by) || is_awaited != it->is_drain_awaited.load(by));
        };
        const auto writer = [=] {
            it->is_drain_awaited.exchange(true, by == seq_cst ? seq_cst : acq_rel);
            join();
        };
        const auto reader = [=] {
            it->readers_share.store(20, by);
            join();
        };
        return program{{writer, reader},
                       [=] { expect(it->hwm.load() == 1, "the reader tells of steps only"); }};
    });
}

}  // namespace

TEST(marks, tell_of_each_message_while_a_drain_is_awaited) {
    const outcome all = drain_beside_a_mark(seq_cst);
    EXPECT_EQ(all.failure, "");
    EXPECT_EQ(all.left, 0u);
    EXPECT_NE(drain_beside_a_mark(acquire).failure, "");
}

namespace {

/// Two threads have something for one task. `queues` is the order of the exchange that says whether
/// it is in the list already.
outcome posts_of_one_task(std::memory_order queues) {
    return explore([queues] {
        struct task {
            atomic<int> first{0}, second{0};  // what it is to look at
            atomic<bool> is_queued{false};
            atomic<int> in_list{0};
            int ran_with = 0;
        };
        auto it = std::make_shared<task>();
        const auto post = [=](atomic<int> task::*what) {
            ((*it).*what).store(1, relaxed);
            if (!it->is_queued.exchange(true, queues))
                it->in_list.exchange(1, std::memory_order_release);
        };
        const auto run = [=] {
            if (!it->in_list.exchange(0, acquire))
                return;
            it->is_queued.exchange(false, queues);
            it->ran_with |= it->first.load(relaxed) | it->second.load(relaxed) << 1;
        };
        return program{{[=] { post(&task::first); }, [=] { post(&task::second); }, run}, [=] {
                           run();  // what is in the list runs some time
                           expect(it->ran_with == 3, "a post that no run of the task has seen");
                       }};
    });
}

}  // namespace

TEST(task, sees_what_each_post_was_for) {
    const outcome all = posts_of_one_task(acq_rel);
    EXPECT_EQ(all.failure, "");
    EXPECT_EQ(all.left, 0u);
    EXPECT_NE(posts_of_one_task(relaxed).failure, "");
}

}  // namespace zlink::order
