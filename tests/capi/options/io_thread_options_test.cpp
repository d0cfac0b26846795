// ZMQ_THREAD_ options of a context: what its I/O threads are, as the system tells.
#include "chosen_processor.hpp"
#include "raw_peer.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sched.h>
#include <set>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>

namespace {
std::atomic<int> yields_of_real_time{0};
}

// In the place of the C library's.
extern "C" int sched_yield() noexcept {
    if (::sched_getscheduler(0) == SCHED_FIFO)
        ++yields_of_real_time;
    return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace {

using namespace zlink::test;

std::set<int> threads_of_this_process() {
    std::set<int> out;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
        out.insert(std::stoi(entry.path().filename()));
    return out;
}

/// A context whose one I/O thread has begun, and that thread's number. The thread does what it was
/// told before it serves anybody.
class context_with_thread {
public:
    int tid() {
        std::thread([] {}).join();  // a sanitizer's own thread comes with the first
        const std::set<int> before = threads_of_this_process();
        socket_.emplace(context_, ZMQ_PULL);
        raw_peer peer(socket_->bind("tcp://127.0.0.1:*"));
        EXPECT_TRUE(peer.shake_hands("PUSH"));
        for (const int thread : threads_of_this_process())
            if (!before.contains(thread))
                return thread;
        return -1;
    }
    operator void *() const { return context_; }

private:
    zmq_context context_;
    std::optional<zmq_socket_of> socket_;
};

TEST(io_thread, bears_the_prefix_in_its_name) {
    context_with_thread context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_NAME_PREFIX, 4711), 0);
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(context.tid()) + "/comm") >> std::ws,
                 name);
    EXPECT_NE(name.find("4711"), std::string::npos) << name;
}

TEST(io_thread, stays_on_the_processors_it_was_given) {
    const int first = chosen_processor().all().front();
    const int other = first == 0 ? 1 : 0;  // need not exist: it is taken back
    context_with_thread context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, first), 0);
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_ADD, other), 0);
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_AFFINITY_CPU_REMOVE, other), 0);
    cpu_set_t its;
    ASSERT_EQ(::sched_getaffinity(context.tid(), sizeof its, &its), 0);
    EXPECT_EQ(CPU_COUNT(&its), 1);
    EXPECT_TRUE(CPU_ISSET(first, &its));
}

TEST(io_thread, has_the_policy_and_the_priority_it_may_have) {
    constexpr int priority = 3;
    int nice_of_a_thread_that_tried = 100;
    std::thread([&] {
        const auto self = static_cast<id_t>(::syscall(SYS_gettid));
        (void)::setpriority(PRIO_PROCESS, self, -priority);
        nice_of_a_thread_that_tried = ::getpriority(PRIO_PROCESS, self);
    }).join();
    context_with_thread context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_SCHED_POLICY, SCHED_BATCH), 0);
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_PRIORITY, priority), 0);
    const int tid = context.tid();
    EXPECT_EQ(::sched_getscheduler(tid), SCHED_BATCH);
    EXPECT_EQ(::getpriority(PRIO_PROCESS, static_cast<id_t>(tid)), nice_of_a_thread_that_tried);
}

/// On the processor of a thread that it has interrupted it would do so for ever.
TEST(io_thread, of_real_time_waits_for_no_other_thread_by_yielding) {
    int policy_of_a_thread_that_tried = -1;
    std::thread([&] {
        sched_param priority{};
        priority.sched_priority = 1;
        (void)::sched_setscheduler(0, SCHED_FIFO, &priority);
        policy_of_a_thread_that_tried = ::sched_getscheduler(0);
        (void)::sched_yield();
    }).join();
    ASSERT_EQ(yields_of_real_time.exchange(0), policy_of_a_thread_that_tried == SCHED_FIFO ? 1 : 0);
    chosen_processor processor;
    processor.go_to(processor.all().front());  // with all threads that are begun from here on
    context_with_thread context;
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_SCHED_POLICY, SCHED_FIFO), 0);
    ASSERT_EQ(zmq_ctx_set(context, ZMQ_THREAD_PRIORITY, 1), 0);
    ASSERT_EQ(::sched_getscheduler(context.tid()), policy_of_a_thread_that_tried);
    zmq_socket_of pull(context, ZMQ_PULL);
    zmq_socket_of push(context, ZMQ_PUSH);
    ASSERT_TRUE(push.connect(pull.bind("tcp://127.0.0.1:*")));
    constexpr int messages = 100'000;
    std::jthread sender([&] {
        for (int i = 0; i < messages; ++i)
            ASSERT_TRUE(push.send(std::to_string(i)));
    });
    for (int i = 0; i < messages; ++i)
        ASSERT_EQ(pull.receive(), std::to_string(i));
    sender.join();
    EXPECT_EQ(yields_of_real_time, 0);
}

}  // namespace
