// A thread that a test cancels (pthread_cancel) where it sleeps in the library, or at any moment.
#pragma once

#include "eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace zlink_test {

// ThreadSanitizer's poll(2) has its runtime overlook what the thread calls inside, and ends that in
// a destructor, which the unwinding of a cancelled thread passes over. The locks that the thread
// takes from then on, in destructors of the library's, are not seen, and what they guard is
// reported as a race. So what cancels a thread in its sleep is not run with it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool is_seen_to_unwind = false;
#else
inline constexpr bool is_seen_to_unwind = true;
#endif

// A thread that has disabled cancellation is left alone by pthread_cancel, but musl's interrupts
// the call in which it sleeps, as any signal does.
#ifdef PTHREAD_CANCEL_MASKED
inline constexpr bool cancelling_interrupts = true;
#else
inline constexpr bool cancelling_interrupts = false;
#endif

#define SKIP_IF_NOT_SEEN_TO_UNWIND()                                                                         \
    if (!zlink_test::is_seen_to_unwind)                                                                      \
    GTEST_SKIP() << "ThreadSanitizer does not see the locks of a thread that is cancelled in poll(2)"

class cancelled_thread {
public:
    explicit cancelled_thread(std::function<void()> work) : work_(std::move(work)) {
        EXPECT_EQ(::pthread_create(&thread_, nullptr, &cancelled_thread::run, this), 0);
    }
    cancelled_thread(const cancelled_thread &) = delete;
    cancelled_thread &operator=(const cancelled_thread &) = delete;
    ~cancelled_thread() {
        if (!is_joined_)
            (void)join();
    }

    // Waits until the thread sleeps in poll(2), where the library waits.
    void await_sleep() {
        EXPECT_TRUE(eventually([this] { return sleeps_in_poll(); }))
            << "the thread does not sleep in poll(2)";
    }
    void cancel() { EXPECT_EQ(::pthread_cancel(thread_), 0); }
    // Returns what the thread left: PTHREAD_CANCELED, or null where it came to its end.
    void *join() {
        void *left = nullptr;
        EXPECT_EQ(::pthread_join(thread_, &left), 0);
        is_joined_ = true;
        return left;
    }
    // All of that.
    void cancel_asleep() {
        await_sleep();
        cancel();
        EXPECT_EQ(join(), PTHREAD_CANCELED);
    }

private:
    static void *run(void *self) {
        auto *mine = static_cast<cancelled_thread *>(self);
        mine->tid_ = ::gettid();
        mine->work_();
        return nullptr;
    }
    // The number of the system call a thread sleeps in is the first word; "running" where it does
    // not sleep.
    bool sleeps_in_poll() const {
        if (tid_ == 0)
            return false;
        std::ifstream file("/proc/self/task/" + std::to_string(tid_) + "/syscall");
        long number = -1;
        if (!(file >> number))
            return false;
#ifdef SYS_poll
        if (number == SYS_poll)
            return true;
#endif
        return number == SYS_ppoll;
    }

    std::function<void()> work_;
    std::atomic<int> tid_{0};
    pthread_t thread_{};
    bool is_joined_ = false;
};

}  // namespace zlink_test
