// The places where the library waits for another thread by itself, and not through a seam: its
// locks.
//
// The simulator's threads are fibers of one thread, so that the one who is waited for must get to
// run: inside a world both calls let others go on, and taking a lock is a place to switch. These
// definitions stand in for those of the C library.
#include <cerrno>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world.hpp"

// ThreadSanitizer has definitions of its own: there the linker hands the calls of the program to
// these (tests/CMakeLists.txt).
#ifdef __SANITIZE_THREAD__
#define ZLINK_SEAM(name) __wrap_##name
#else
#define ZLINK_SEAM(name) name
#endif

using zlink::sim::world;

extern "C" int ZLINK_SEAM(sched_yield)() noexcept {
    if (world *here = world::running())
        here->spin();
    else
        ::syscall(SYS_sched_yield);
    return 0;
}

extern "C" int ZLINK_SEAM(pthread_mutex_lock)(pthread_mutex_t *mutex) noexcept {
    if (world *here = world::running())
        here->may_switch();
    for (;;) {
        const int result = pthread_mutex_trylock(mutex);
        if (result != EBUSY)
            return result;
        sched_yield();
    }
}
