// ZLINK_LOG: what a program that looks at no monitor reads on stderr.
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

#include "sockets.hpp"

namespace {

using namespace zlink_test;

class a_log : public ::testing::Test {
protected:
    ~a_log() override { ::unsetenv("ZLINK_LOG"); }

    /// What is written while an address is bound a second time, in a context made at this level.
    static std::string written_at(const char *level) {
        if (level)
            ::setenv("ZLINK_LOG", level, 1);
        ::testing::internal::CaptureStderr();
        {
            context zmq;
            test_socket first = zmq.socket(ZMQ_PULL), second = zmq.socket(ZMQ_REP);
            const std::string endpoint = first.bind("tcp://127.0.0.1:*");
            EXPECT_FAILS(EADDRINUSE, zmq_bind(second.handle(), endpoint.c_str()));
        }
        return ::testing::internal::GetCapturedStderr();
    }
};

bool has(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

TEST_F(a_log, is_not_written_where_nobody_asks_for_it) { EXPECT_EQ(written_at(nullptr), ""); }

TEST_F(a_log, tells_at_the_level_of_errors_what_could_not_be_bound_and_from_warnings_on_why) {
    const std::string text = written_at("error");
    EXPECT_TRUE(text.starts_with("zlink: error: REP 127.0.0.1:")) << text;
    EXPECT_TRUE(text.ends_with(": bind has failed\n")) << text;
    const std::string more = written_at("warn");
    EXPECT_TRUE(more.starts_with("zlink: warn: REP tcp://127.0.0.1:")) << more;
    EXPECT_TRUE(has(more, " is in use by another socket")) << more;
    EXPECT_FALSE(has(more, "listening")) << more;
}

TEST_F(a_log, tells_which_library_this_is_in_the_first_context_that_has_the_level_for_it) {
    const std::string text = written_at("info");
    EXPECT_TRUE(has(text, "zlink: info: zlink ")) << text;
    EXPECT_TRUE(has(text, " (libzmq 4.3.5 compatible), /")) << text;
    EXPECT_TRUE(has(text, "PULL tcp://127.0.0.1:")) << text;
    EXPECT_TRUE(has(text, ": listening\n")) << text;
    EXPECT_FALSE(has(written_at("info"), "compatible"));
}

TEST_F(a_log, is_not_written_at_a_level_that_there_is_not_and_says_so) {
    const std::string text = written_at("loud");
    EXPECT_EQ(text, "zlink: ZLINK_LOG=loud is ignored: error, warn, info or debug is expected\n");
}

TEST_F(a_log, does_not_end_the_program_when_nobody_reads_it) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::close(ends[0]);
    EXPECT_EXIT(
        {
            ::signal(SIGPIPE, SIG_DFL);
            ::setenv("ZLINK_LOG", "debug", 1);
            ::dup2(ends[1], STDERR_FILENO);
            context zmq;
            test_socket pull = zmq.socket(ZMQ_PULL);
            pull.bind("tcp://127.0.0.1:*");
            ::_exit(0);
        },
        ::testing::ExitedWithCode(0), "");
    ::close(ends[1]);
}

}  // namespace
