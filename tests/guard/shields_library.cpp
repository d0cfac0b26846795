// Preloaded into a program: ends it where the library makes a system call that is a cancellation
// point while the calling thread, which is the application's, may be cancelled. pthread_cancel at
// that moment would end the process: the library is noexcept there.
//
// Method:   each of these functions is the library's own here, looks who calls it and whether
//           cancellation is put off, and goes on to that of the system. `poll` is left out: the
//           library sleeps in it where a thread may end (tests/capi/life/cancel_test.cpp).
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

bool is_cancellable() {
    int state = PTHREAD_CANCEL_DISABLE;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    ::pthread_setcancelstate(state, nullptr);
    return state == PTHREAD_CANCEL_ENABLE;
}

/// Nobody else can cancel these.
bool is_the_librarys_thread() {
    char name[16] = "";
    ::pthread_getname_np(::pthread_self(), name, sizeof name);
    return std::strstr(name, "ZMQbg") != nullptr;
}

bool is_in_the_library(const void *address) {
    Dl_info found;
    return ::dladdr(address, &found) != 0 && found.dli_fname && std::strstr(found.dli_fname, "libzmq.so");
}

/// By syscall(2): the functions that say something are among those that are looked at.
void say(const char *text) { (void)::syscall(SYS_write, STDERR_FILENO, text, std::strlen(text)); }

void look(const char *call, const void *caller) {
    if (!is_cancellable() || is_the_librarys_thread() || !is_in_the_library(caller))
        return;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    say("a thread may be cancelled in ");
    say(call);
    say(", called by the library:\n");
    void *frames[16];
    ::backtrace_symbols_fd(frames, ::backtrace(frames, 16), STDERR_FILENO);
    std::abort();
}

}  // namespace

#define LOOKED_AT(result, name, parameters, ...)                                                             \
    extern "C" result name parameters {                                                                      \
        static const auto next = reinterpret_cast<result(*) parameters>(::dlsym(RTLD_NEXT, #name));          \
        look(#name, __builtin_return_address(0));                                                            \
        return next(__VA_ARGS__);                                                                            \
    }

LOOKED_AT(ssize_t, read, (int a, void *b, std::size_t c), a, b, c)
LOOKED_AT(ssize_t, readv, (int a, const iovec *b, int c), a, b, c)
LOOKED_AT(ssize_t, recv, (int a, void *b, std::size_t c, int d), a, b, c, d)
LOOKED_AT(ssize_t, recvmsg, (int a, msghdr *b, int c), a, b, c)
LOOKED_AT(ssize_t, write, (int a, const void *b, std::size_t c), a, b, c)
LOOKED_AT(ssize_t, writev, (int a, const iovec *b, int c), a, b, c)
LOOKED_AT(ssize_t, send, (int a, const void *b, std::size_t c, int d), a, b, c, d)
LOOKED_AT(ssize_t, sendmsg, (int a, const msghdr *b, int c), a, b, c)
LOOKED_AT(int, accept4, (int a, sockaddr *b, socklen_t *c, int d), a, b, c, d)
LOOKED_AT(int, close, (int a), a)
LOOKED_AT(int, connect, (int a, const sockaddr *b, socklen_t c), a, b, c)
LOOKED_AT(int, epoll_wait, (int a, epoll_event *b, int c, int d), a, b, c, d)
LOOKED_AT(int, fallocate, (int a, int b, off_t c, off_t d), a, b, c, d)
LOOKED_AT(ssize_t, getrandom, (void *a, std::size_t b, unsigned c), a, b, c)
LOOKED_AT(int, nanosleep, (const timespec *a, timespec *b), a, b)
LOOKED_AT(int, clock_nanosleep, (clockid_t a, int b, const timespec *c, timespec *d), a, b, c, d)
LOOKED_AT(int, pthread_cond_wait, (pthread_cond_t * a, pthread_mutex_t *b), a, b)
