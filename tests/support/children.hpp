// Children of fork(), which do something and end.
//
// Limits: a heap watched by a sanitizer does not survive a fork while other threads are in it: its
//         lock stays shut in the child. There no thread of a test runs meanwhile, and the library's
//         own sleep before each fork. And ThreadSanitizer lets no child of several threads start
//         threads of its own.
#pragma once

#include "asleep.hpp"
#include "child.hpp"
#include "sockets.hpp"

namespace zlink_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool may_fork_in_the_middle = false;
#else
inline constexpr bool may_fork_in_the_middle = true;
#endif

inline constexpr int forks = may_fork_in_the_middle ? 500 : 20;

inline void must_set(void *socket, int option, const std::string &value) {
    must(zmq_setsockopt(socket, option, value.data(), value.size()) == 0);
}

/// Does in_child() so many times, one after the other.
template <class Body>
void in_children(Body &&body, int count = forks) {
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(eventually([] { return may_fork_in_the_middle || others_are_asleep(); }));
        ASSERT_TRUE(in_child(body)) << "child " << i;
    }
}

}  // namespace zlink_test
