// Descriptors that are closed by threads of their own.
#include "transport/passed_descriptors.hpp"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.hpp"
#include "eventually.hpp"

namespace {
constexpr int most_threads = 4;
std::atomic<bool> is_held_up{false};
std::atomic<int> held_up{0};
}  // namespace

#ifndef __SANITIZE_THREAD__
/// The library's calls come here: one that takes as long as the test likes.
extern "C" int close(int descriptor) {
    if (is_held_up) {
        ++held_up;
        is_held_up.wait(true);
    }
    return static_cast<int>(::syscall(SYS_close, descriptor));
}
#endif

namespace zlink::passed_descriptors {
namespace {

/// One end of a pipe is passed; the other shows whether it has been closed.
class passed_end {
public:
    passed_end() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
    ~passed_end() { ::syscall(SYS_close, ends_[0]); }
    passed_end(const passed_end &) = delete;
    passed_end &operator=(const passed_end &) = delete;

    void pass() { close_elsewhere(ends_[1]); }
    bool comes_to_be_closed() {
        pollfd other{ends_[0], 0, 0};
        return ::poll(&other, 1, 10'000) == 1 && (other.revents & POLLHUP) != 0;
    }
    bool is_open() const { return ::fcntl(ends_[1], F_GETFD) >= 0; }

private:
    std::array<int, 2> ends_{};
};

TEST(passed_descriptors, are_closed_one_after_another) {
    for (int i = 0; i < 100; ++i) {
        passed_end one;
        one.pass();
        ASSERT_TRUE(one.comes_to_be_closed()) << i;
    }
}

#ifndef __SANITIZE_THREAD__  // it lets no child of several threads start threads
TEST(passed_descriptors, of_the_parent_are_left_alone_in_a_child_of_fork_which_closes_its_own) {
    std::array<passed_end, most_threads + 1> all;
    held_up = 0;
    is_held_up = true;
    for (passed_end &each : all)
        each.pass();
    ASSERT_TRUE(zlink_test::eventually([] { return held_up == most_threads; }));
    EXPECT_TRUE(zlink_test::in_child([&] {
        is_held_up = false;
        passed_end own;
        own.pass();
        zlink_test::must(own.comes_to_be_closed());
        zlink_test::end(all.back().is_open());
    }));
    is_held_up = false;
    is_held_up.notify_all();
    for (passed_end &each : all)
        EXPECT_TRUE(each.comes_to_be_closed());
}
#endif

}  // namespace
}  // namespace zlink::passed_descriptors
