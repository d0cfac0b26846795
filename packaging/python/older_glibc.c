/* What the C library of the build has and that of GLIBC 2.27 has not, for a library that is linked for the latter (older_glibc.py). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The C++ library asks whether it may leave out atomic operations: it may not. */
char __libc_single_threaded = 0;

pid_t gettid(void) {
    return (pid_t)syscall(SYS_gettid);
}

/* For std::random_device. */
uint32_t arc4random(void) {
    uint32_t made;
    while (getrandom(&made, sizeof made, 0) != sizeof made) {
        if (errno != EINTR)
            abort(); /* a number that is none would be worse */
    }
    return made;
}

/* Until 2.33 the C library had these as inline functions over a versioned one. */
#if defined __x86_64__
enum { layout_of_stat = 1 };
#else
enum { layout_of_stat = 0 };
#endif
int __xstat(int layout, const char *path, struct stat *result);
int __lxstat(int layout, const char *path, struct stat *result);
int __fxstat(int layout, int descriptor, struct stat *result);
int __fxstatat(int layout, int folder, const char *path, struct stat *result, int flags);

int stat(const char *path, struct stat *result) {
    return __xstat(layout_of_stat, path, result);
}

int lstat(const char *path, struct stat *result) {
    return __lxstat(layout_of_stat, path, result);
}

int fstat(int descriptor, struct stat *result) {
    return __fxstat(layout_of_stat, descriptor, result);
}

/* The C++ library's name of it. With addresses of 64 bits the two are the same. */
int fstat64(int descriptor, struct stat64 *result) {
    return __fxstat(layout_of_stat, descriptor, (struct stat *)result);
}

int fstatat(int folder, const char *path, struct stat *result, int flags) {
    return __fxstatat(layout_of_stat, folder, path, result, flags);
}

/* For waits of the C++ library by a clock that nobody sets. Without the call a wait lasts as long, unless somebody sets the other clock. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
    static const long second = 1000000000;
    typedef int wait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
    wait *of_system = (wait *)(uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    struct timespec now, real;
    if (of_system)
        return of_system(condition, mutex, clock, until);
    if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0)
        return EINVAL;
    real.tv_sec += until->tv_sec - now.tv_sec;
    real.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (real.tv_nsec < 0) {
        real.tv_nsec += second;
        --real.tv_sec;
    } else if (real.tv_nsec >= second) {
        real.tv_nsec -= second;
        ++real.tv_sec;
    }
    return pthread_cond_timedwait(condition, mutex, &real);
}
