// A child of fork(), which does something and ends.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace zlink_test {

[[noreturn]] inline void end(bool is_well) { ::_exit(is_well ? 0 : 1); }
inline void must(bool holds) {
    if (!holds)
        end(false);
}

/// Has a child do `body`, which may end it, and waits. True when it ended well. One that hangs is
/// ended by its alarm.
template <class Body>
::testing::AssertionResult in_child(Body &&body) {
    const pid_t child = ::fork();
    if (child < 0)
        return ::testing::AssertionFailure() << "there is no child";
    if (child == 0) {
        ::alarm(20);
        body();
        end(true);
    }
    int status = -1;
    if (::waitpid(child, &status, 0) != child)
        return ::testing::AssertionFailure() << "nobody knows how the child ended";
    if (status == 0)
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure()
           << "the child " << (WIFSIGNALED(status) ? "hung, or broke" : "failed") << ", status " << status;
}

}  // namespace zlink_test
