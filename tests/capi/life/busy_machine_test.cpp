// A machine whose processors others burn: streams go on, and no thread gives its processor to
// strangers on purpose.
#include "busy_threads.hpp"
#include "sockets.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace {
std::atomic<int> yields{0};
}

// In the place of the C library's, for the library under test, too.
extern "C" int sched_yield() noexcept {
    ++yields;
    return static_cast<int>(::syscall(SYS_sched_yield));
}

namespace {

using namespace zlink_test;

class busy_machine : public testing::TestWithParam<const char *> {};

TEST_P(busy_machine, gets_a_stream_across_without_a_yield) {
    constexpr int messages = 20'000;
    constexpr int hogs = 4;
    context zmq;
    test_socket pull = zmq.socket(ZMQ_PULL);
    test_socket push = zmq.socket(ZMQ_PUSH);
    push.connect(pull.bind(GetParam()));
    busy_threads others;
    for (int i = 0; i < hogs; ++i)
        others.add([] {});
    yields = 0;
    const std::string body(64, 'b');
    std::thread sender([&] {
        for (int i = 0; i < messages; ++i)
            EXPECT_EQ(push.send(body), 64);
    });
    for (int i = 0; i < messages; ++i)
        EXPECT_EQ(pull.receive(), body);
    sender.join();
    EXPECT_EQ(yields, 0);
}

INSTANTIATE_TEST_SUITE_P(transports, busy_machine,
                         testing::Values("inproc://busy", "tcp://127.0.0.1:*", "ipc://*"));

}  // namespace
