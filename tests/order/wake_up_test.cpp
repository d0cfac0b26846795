// The protocols by which a thread that publishes sees that the other sleeps, in every order of
// their steps. The steps are those of the files named at each, written out: a change there is one
// here.
#include <gtest/gtest.h>

#include "order/memory_model.hpp"
#include "pipe/write_turn.hpp"

namespace zlink::order {

namespace {

outcome all_wake_ups(const std::function<program()> &make) {
    outcome all = explore(make);
    EXPECT_TRUE(all.runs > 10 || !all.failure.empty());
    EXPECT_EQ(all.left, 0u);
    return all;
}

/// Faults that can be planted.
struct planted {
    bool no_fence_of_sleeper = false;
    bool no_barrier = false;
    bool no_fence_of_publisher = false;
    bool no_fence_of_change = false;  // when a stream begins
    bool plain_look = false;          // the sleeper looks at what is published without acquiring it
};

/// One direction of a pipe: pipe_end::publish(), fence_publish(), wake_reader(), note_sleeper(),
/// and arm_reader() with the heavy_fence() behind it.
struct direction {
    planted faults;
    atomic<int> committed{0};
    atomic<bool> reader_armed{false};
    atomic<bool> writer_fences{true};
    plain<int> body;
    bool fences = true;  // the writer's own memory of writer_fences
    int wakes = 0;
    int seen = 0;

    void publish(int count, bool begins_stream = false) {
        if (count == 1)
            body.set(1);
        committed.store(count, release);
        if (fences)
            fence_publish(begins_stream);
        if (reader_armed.load(relaxed))
            wake();
    }
    void fence_publish(bool begins_stream) {
        if (begins_stream) {
            fences = false;
            writer_fences.store(false, seq_cst);
            if (faults.no_fence_of_change)
                return;
        }
        if (!faults.no_fence_of_publisher)
            full_fence();
    }
    void wake() {
        if (!reader_armed.exchange(false, seq_cst))
            return;
        ++wakes;
        if (!fences) {  // note_sleeper(): no stream any more
            writer_fences.store(true, release);
            fences = true;
        }
    }
    /// Whether the reader would sleep.
    bool arm_and_look(int known) {
        reader_armed.store(true, seq_cst);
        if (!faults.no_fence_of_sleeper)
            full_fence();
        const bool met = !writer_fences.load(acquire);
        if (!faults.no_fence_of_sleeper)
            full_fence();  // of heavy_fence()
        if (met && !faults.no_barrier)
            barrier_of_all();
        seen = committed.load(faults.plain_look ? relaxed : acquire);
        if (seen > 0)
            (void)body.get();
        return seen == known;
    }
};

/// `count` messages; the first of `stream` begins a stream.
program publish_and_sleep(planted faults, int count, int stream, bool was_in_stream = false) {
    auto it = std::make_shared<direction>();
    it->faults = faults;
    auto sleeps = std::make_shared<bool>(false);
    if (was_in_stream) {
        it->fences = false;
        it->writer_fences.store(false);
    }
    const auto writer = [=] {
        for (int i = 1; i <= count; ++i)
            it->publish(i, i == stream);
    };
    const auto reader = [=] { *sleeps = it->arm_and_look(0) || it->seen < count; };
    return {{writer, reader}, [=] { expect(!*sleeps || it->wakes > 0, "it sleeps, and nobody wakes it"); }};
}

constexpr int never = 0;

}  // namespace

TEST(wake_up, reaches_a_reader_whose_writer_fences) {
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 1, never); }).failure, "");
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 2, never); }).failure, "");
}

TEST(wake_up, reaches_a_reader_whose_writer_is_in_a_stream) {
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 1, never, true); }).failure, "");
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 2, never, true); }).failure, "");
}

TEST(wake_up, reaches_a_reader_whose_writer_begins_a_stream) {
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 2, 1); }).failure, "");
    EXPECT_EQ(all_wake_ups([] { return publish_and_sleep({}, 2, 2); }).failure, "");
}

TEST(wake_up, is_lost_where_a_fence_is_missing) {
    EXPECT_NE(all_wake_ups([] { return publish_and_sleep({.no_fence_of_sleeper = true}, 1, never); }).failure,
              "");
    EXPECT_NE(
        all_wake_ups([] { return publish_and_sleep({.no_fence_of_publisher = true}, 1, never); }).failure,
        "");
    EXPECT_NE(all_wake_ups([] { return publish_and_sleep({.no_barrier = true}, 1, never, true); }).failure,
              "");
    EXPECT_NE(all_wake_ups([] { return publish_and_sleep({.no_fence_of_change = true}, 2, 1); }).failure, "");
    EXPECT_NE(all_wake_ups([] { return publish_and_sleep({.plain_look = true}, 1, never); }).failure, "");
}

TEST(wake_up, reaches_a_reader_that_sleeps_twice) {
    EXPECT_EQ(all_wake_ups([] {
                  auto it = std::make_shared<direction>();
                  auto sleeps = std::make_shared<bool>(false);
                  it->fences = false;
                  it->writer_fences.store(false);
                  it->reader_armed.store(true);  // it sleeps, and is woken by the first message
                  const auto writer = [=] {
                      it->publish(1);
                      it->publish(2);
                  };
                  const auto reader = [=] {
                      it->seen = it->committed.load(acquire);
                      if (it->seen > 0)
                          *sleeps = it->arm_and_look(it->seen);
                  };
                  return program{{writer, reader}, [=] {
                                     expect(!*sleeps || it->seen == 2 || !it->reader_armed.load(),
                                            "it sleeps before the second, and nobody wakes it");
                                 }};
              }).failure,
              "");
}

namespace {

/// Credit: pipe_end::return_credit() and arm_writer(), both with a full fence.
program return_and_wait(bool has_fences) {
    struct credit {
        atomic<int> returned{0};
        atomic<bool> writer_armed{false};
        bool is_woken = false;
        bool sleeps = false;
    };
    auto it = std::make_shared<credit>();
    const auto reader = [=] {
        it->returned.store(1, release);
        if (has_fences)
            full_fence();
        if (it->writer_armed.load(relaxed) && it->writer_armed.exchange(false, seq_cst))
            it->is_woken = true;
    };
    const auto writer = [=] {
        it->writer_armed.store(true, seq_cst);
        if (has_fences)
            full_fence();
        it->sleeps = it->returned.load(acquire) == 0;
    };
    return {{reader, writer}, [=] { expect(!it->sleeps || it->is_woken, "it waits for credit for ever"); }};
}

}  // namespace

TEST(wake_up, reaches_a_writer_that_waits_for_credit) {
    EXPECT_EQ(all_wake_ups([] { return return_and_wait(true); }).failure, "");
    EXPECT_NE(all_wake_ups([] { return return_and_wait(false); }).failure, "");
}

namespace {

/// asio_loop::post() and sleep(). The list is one word here: its push is a read-modify-write that
/// releases.
program post_and_sleep(bool poster_fences, bool loop_fences) {
    struct loop {
        atomic<int> posted{0};
        atomic<bool> asleep{false};
        plain<int> task;
        bool is_stopped = false;
        bool sleeps = false;
    };
    auto it = std::make_shared<loop>();
    const auto poster = [=] {
        it->task.set(1);
        it->posted.exchange(1, release);
        if (poster_fences)
            full_fence();
        if (it->asleep.load(relaxed) && it->asleep.exchange(false, std::memory_order_acq_rel))
            it->is_stopped = true;
    };
    const auto io = [=] {
        it->asleep.store(true, relaxed);
        if (loop_fences)
            full_fence();
        const int posted = it->posted.load(acquire);
        it->sleeps = posted == 0;
        if (posted)
            (void)it->task.get();
    };
    return {{poster, io}, [=] { expect(!it->sleeps || it->is_stopped, "a task waits for ever"); }};
}

}  // namespace

TEST(wake_up, reaches_a_loop_that_goes_to_sleep) {
    EXPECT_EQ(all_wake_ups([] { return post_and_sleep(true, true); }).failure, "");
    EXPECT_NE(all_wake_ups([] { return post_and_sleep(false, true); }).failure, "");
    EXPECT_NE(all_wake_ups([] { return post_and_sleep(true, false); }).failure, "");
}

namespace {

/// sender::end_write() of a sender that has found its stream full, and says that its reader is
/// awake; beside the end of its lease, after which the I/O thread writes the rest and sleeps. Then
/// the sender publishes once more.
program give_and_publish(bool says_before_it_gives) {
    struct direction {
        basic_write_turn<atomic> turn;
        atomic<bool> is_leased{true};
        atomic<bool> reader_armed{false};
        atomic<int> committed{1};
        bool is_woken = false;
        bool sleeps = false;
    };
    auto it = std::make_shared<direction>();
    expect(it->turn.try_take(), "nobody has it");
    const auto sender = [=] {
        if (says_before_it_gives)
            it->reader_armed.store(false, relaxed);
        const bool was_refused = it->turn.give();
        if (!says_before_it_gives)
            it->reader_armed.store(false, relaxed);
        if (was_refused || !it->is_leased.load(seq_cst))
            it->is_woken = true;
        it->committed.store(2, release);
        full_fence();
        if (it->reader_armed.load(relaxed))
            it->is_woken = true;
    };
    const auto io = [=] {
        it->is_leased.exchange(false, acq_rel);
        if (!it->turn.take_or_request())
            return;
        it->reader_armed.store(true, seq_cst);
        full_fence();
        (void)it->turn.give();
        it->sleeps = it->committed.load(acquire) == 1;
    };
    return {{sender, io}, [=] { expect(!it->sleeps || it->is_woken, "it sleeps, and nobody wakes it"); }};
}

}  // namespace

TEST(wake_up, reaches_a_reader_that_was_said_to_be_awake_before_the_turn_was_given) {
    EXPECT_EQ(all_wake_ups([] { return give_and_publish(true); }).failure, "");
    EXPECT_NE(all_wake_ups([] { return give_and_publish(false); }).failure, "");
}

}  // namespace zlink::order
