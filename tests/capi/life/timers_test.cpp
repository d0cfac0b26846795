// zmq_timers_*: when handlers run, what they may do, and bad arguments.
//
// Only intervals of 0 and of hours appear, so that no test depends on the speed of the machine.
#include <zmq.h>

#include <cerrno>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

namespace {

constexpr std::size_t an_hour = 3600 * 1000;

struct timers : testing::Test {
    void *set = zmq_timers_new();
    std::vector<int> ran;

    ~timers() override {
        if (set)
            zmq_timers_destroy(&set);
    }
    static void note(int id, void *self) { static_cast<timers *>(self)->ran.push_back(id); }
    int add(std::size_t interval) { return zmq_timers_add(set, interval, note, this); }
};

#define EXPECT_ERRNO(call, number)                                                                           \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        EXPECT_EQ(call, -1);                                                                                 \
        EXPECT_EQ(errno, number) << #call;                                                                   \
    } while (0)

TEST_F(timers, wait_for_nothing_when_there_are_none) {
    errno = 0;
    EXPECT_EQ(zmq_timers_timeout(set), -1);
    EXPECT_EQ(errno, 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
}

TEST_F(timers, have_ids_that_differ) {
    const int first = add(an_hour);
    EXPECT_GT(first, 0);
    EXPECT_EQ(add(an_hour), first + 1);
    ASSERT_EQ(zmq_timers_cancel(set, first + 1), 0);
    EXPECT_EQ(add(an_hour), first + 2) << "an id is not given twice";
}

TEST_F(timers, tell_the_time_left) {
    (void)add(an_hour);
    const long left = zmq_timers_timeout(set);
    EXPECT_GT(left, 0);
    EXPECT_LE(left, static_cast<long>(an_hour));
    (void)add(0);
    EXPECT_EQ(zmq_timers_timeout(set), 0);
}

TEST_F(timers, run_when_due_and_stay) {
    const int now = add(0);
    (void)add(an_hour);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(ran, (std::vector<int>{now}));
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(ran, (std::vector<int>{now, now}));
}

TEST_F(timers, run_in_the_order_in_which_they_are_due) {
    const int a = add(0), b = add(0), c = add(0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(ran, (std::vector<int>{a, b, c}));
}

TEST_F(timers, do_not_run_once_cancelled) {
    const int id = add(0);
    EXPECT_EQ(zmq_timers_cancel(set, id), 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_TRUE(ran.empty());
    EXPECT_EQ(zmq_timers_timeout(set), -1);
    EXPECT_ERRNO(zmq_timers_cancel(set, id), EINVAL);
    EXPECT_ERRNO(zmq_timers_reset(set, id), EINVAL);
    EXPECT_ERRNO(zmq_timers_set_interval(set, id, 1), EINVAL);
}

TEST_F(timers, can_be_given_another_interval) {
    const int id = add(0);
    EXPECT_EQ(zmq_timers_set_interval(set, id, an_hour), 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_TRUE(ran.empty());
    EXPECT_EQ(zmq_timers_set_interval(set, id, 0), 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(ran.size(), 1u);
}

TEST_F(timers, can_be_reset) {
    const int id = add(an_hour);
    EXPECT_EQ(zmq_timers_reset(set, id), 0);
    EXPECT_GT(zmq_timers_timeout(set), 0);
}

TEST_F(timers, survive_an_interval_beyond_the_clock) {
    EXPECT_GT(add(SIZE_MAX), 0);
    EXPECT_GT(zmq_timers_timeout(set), 0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_TRUE(ran.empty());
}

TEST_F(timers, may_be_cancelled_and_added_by_a_handler) {
    struct meddler {
        void *set;
        int victim;
        int calls;
        static void meddle(int id, void *self) {
            auto *me = static_cast<meddler *>(self);
            ++me->calls;
            zmq_timers_cancel(me->set, id);
            zmq_timers_cancel(me->set, me->victim);
            for (int i = 0; i < 100; ++i)
                zmq_timers_add(me->set, 0, meddle, self);
        }
    } it{set, 0, 0};
    ASSERT_GT(zmq_timers_add(set, 0, meddler::meddle, &it), 0);
    it.victim = add(0);
    EXPECT_EQ(zmq_timers_execute(set), 0);
    EXPECT_EQ(it.calls, 1) << "timers added by a handler wait for the next call";
    EXPECT_TRUE(ran.empty()) << "a timer cancelled by a handler before it does not run";
    EXPECT_EQ(zmq_timers_timeout(set), 0);
}

TEST_F(timers, refuse_bad_arguments) {
    EXPECT_ERRNO(zmq_timers_add(set, 1, nullptr, nullptr), EFAULT);
    EXPECT_ERRNO(zmq_timers_cancel(set, 99), EINVAL);
    EXPECT_ERRNO(zmq_timers_add(nullptr, 1, note, this), EFAULT);
    EXPECT_ERRNO(zmq_timers_cancel(nullptr, 1), EFAULT);
    EXPECT_ERRNO(zmq_timers_set_interval(nullptr, 1, 1), EFAULT);
    EXPECT_ERRNO(zmq_timers_reset(nullptr, 1), EFAULT);
    EXPECT_ERRNO(zmq_timers_timeout(nullptr), EFAULT);
    EXPECT_ERRNO(zmq_timers_execute(nullptr), EFAULT);
    EXPECT_ERRNO(zmq_timers_destroy(nullptr), EFAULT);
    char other[256] = {};
    EXPECT_ERRNO(zmq_timers_execute(other), EFAULT);
}

TEST_F(timers, are_destroyed_once) {
    EXPECT_EQ(zmq_timers_destroy(&set), 0);
    EXPECT_EQ(set, nullptr);
    EXPECT_ERRNO(zmq_timers_destroy(&set), EFAULT);
}

}  // namespace
