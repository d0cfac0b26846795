// Processes that are stopped and go on, as job control, a debugger and `docker pause` have them do.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

namespace zlink::test {

/// The first thread of a process: S sleeps, T is stopped, Z has ended; ? is not there. Asks the
/// heap for nothing: for children of fork(), too.
inline char state_of(pid_t process) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    const int file = ::open(path, O_RDONLY);
    char text[256] = {};
    const ssize_t size = ::read(file, text, sizeof text - 1);
    ::close(file);
    const char *const name_end = size > 0 ? std::strrchr(text, ')') : nullptr;
    return name_end ? name_end[2] : '?';
}

/// False when it ends before it gets there.
inline bool wait_for_state(pid_t process, char wanted) {
    for (;;) {
        const char state = state_of(process);
        if (state == wanted || state == 'Z' || state == '?')
            return state == wanted;
        ::sched_yield();
    }
}

/// Stops a process that sleeps, or will, and lets it go on. False when it has ended.
inline bool stop_and_continue(pid_t process) {
    if (!wait_for_state(process, 'S') || ::kill(process, SIGSTOP) != 0 || !wait_for_state(process, 'T') ||
        ::kill(process, SIGCONT) != 0)
        return false;
    while (state_of(process) == 'T')
        ::sched_yield();
    return true;
}

}  // namespace zlink::test
