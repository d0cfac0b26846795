// The descriptor of an event loop tells of a level, and of streams.
#include "core/loop_descriptor.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "core/platform.hpp"
#include "core/waiter.hpp"

namespace zlink {
namespace {

/// Two ends of a stream, closed at the end unless that was done.
struct stream_pair {
    stream_pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
    ~stream_pair() {
        for (const int each : ends)
            if (each >= 0)
                ::close(each);
    }
    void say() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
    int ends[2] = {-1, -1};
};

struct loop_descriptor_test : testing::Test {
    loop_descriptor_test() {
        EXPECT_EQ(how->make_wakeup(level), error::none);
        EXPECT_EQ(loop.open(*level), error::none);
    }
    bool is_readable() const {
        pollfd item{loop.descriptor(), POLLIN, 0};
        return ::poll(&item, 1, 0) == 1;
    }
    std::vector<int> told(std::size_t most = 8) {
        std::vector<int> found(most);
        found.resize(loop.take_told(found));
        return found;
    }

    const std::unique_ptr<waiter> how = platform::make_waiter(platform::steady_clock());
    std::unique_ptr<wakeup> level;
    loop_descriptor loop;
};

TEST_F(loop_descriptor_test, is_readable_while_the_level_is_up) {
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(is_readable());
        level->signal();
        EXPECT_TRUE(is_readable());
        EXPECT_EQ(told(), std::vector<int>{});
        EXPECT_TRUE(is_readable()) << "that is no news of a stream";
        EXPECT_TRUE(level->clear());
    }
}

TEST_F(loop_descriptor_test, tells_of_a_stream_once_each_time_that_it_is_watched) {
    const stream_pair stream;
    stream.say();
    for (int i = 0; i < 2; ++i) {
        EXPECT_FALSE(is_readable());
        ASSERT_TRUE(loop.watch(stream.ends[0], POLLIN));
        EXPECT_TRUE(is_readable());
        EXPECT_EQ(told(), std::vector<int>{stream.ends[0]});
    }
    EXPECT_FALSE(is_readable());
    EXPECT_EQ(told(), std::vector<int>{});
}

TEST_F(loop_descriptor_test, says_nothing_of_what_somebody_else_has_read) {
    const stream_pair stream;
    ASSERT_TRUE(loop.watch(stream.ends[0], POLLIN));
    stream.say();
    char octet = 0;
    EXPECT_EQ(::read(stream.ends[0], &octet, 1), 1);
    EXPECT_FALSE(is_readable());
    EXPECT_EQ(told(), std::vector<int>{});
    stream.say();
    EXPECT_TRUE(is_readable()) << "it is watched still";
}

TEST_F(loop_descriptor_test, tells_of_room_where_that_is_watched_for) {
    const stream_pair stream;
    ASSERT_TRUE(loop.watch(stream.ends[0], POLLIN | POLLOUT));
    EXPECT_EQ(told(), std::vector<int>{stream.ends[0]});
}

TEST_F(loop_descriptor_test, tells_of_all_in_several_calls) {
    const stream_pair streams[3];
    for (const stream_pair &each : streams) {
        each.say();
        ASSERT_TRUE(loop.watch(each.ends[0], POLLIN));
    }
    EXPECT_EQ(told(2).size(), 2u);
    EXPECT_TRUE(is_readable());
    EXPECT_EQ(told(2).size(), 1u);
    EXPECT_FALSE(is_readable());
}

/// A child of fork has it, too: epoll goes on with what is open somewhere.
TEST_F(loop_descriptor_test, tells_once_of_a_stream_that_is_closed_here_and_open_elsewhere) {
    stream_pair stream;
    const int elsewhere = ::dup(stream.ends[0]);
    ASSERT_TRUE(loop.watch(stream.ends[0], POLLIN));
    ::close(std::exchange(stream.ends[0], -1));
    stream.say();
    EXPECT_TRUE(is_readable());
    EXPECT_EQ(told().size(), 1u);
    EXPECT_FALSE(is_readable());
    ::close(elsewhere);
}

TEST_F(loop_descriptor_test, does_not_watch_what_is_closed) {
    stream_pair stream;
    const int closed = std::exchange(stream.ends[0], -1);
    ::close(closed);
    EXPECT_FALSE(loop.watch(closed, POLLIN));
}

}  // namespace
}  // namespace zlink
