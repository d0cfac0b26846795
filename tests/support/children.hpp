// Children of fork(), which do something and end.
//
// Limits: a heap watched by a sanitizer does not survive a fork while other threads are in it: its
//         lock stays shut in the child. There no thread of a test runs meanwhile, and the library's
//         own sleep before each fork. And ThreadSanitizer lets no child of several threads start
//         threads of its own.
#pragma once

#include "asleep.hpp"
#include "sockets.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace zlink_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool may_fork_in_the_middle = false;
#else
inline constexpr bool may_fork_in_the_middle = true;
#endif

inline constexpr int forks = may_fork_in_the_middle ? 500 : 20;

[[noreturn]] inline void end(bool is_well) { ::_exit(is_well ? 0 : 1); }
inline void must(bool holds) {
    if (!holds)
        end(false);
}
inline void must_set(void *socket, int option, const std::string &value) {
    must(zmq_setsockopt(socket, option, value.data(), value.size()) == 0);
}

/// What `body` does in so many children, one after the other; it ends the child. One that hangs is
/// ended by its alarm, which its status tells.
template <class Body>
void in_children(Body &&body, int count = forks) {
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(eventually([] { return may_fork_in_the_middle || others_are_asleep(); }));
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ::alarm(20);
            body();
            end(true);
        }
        int status = -1;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0) << "child " << i << (WIFSIGNALED(status) ? " hung, or broke" : " failed");
    }
}

}  // namespace zlink_test
