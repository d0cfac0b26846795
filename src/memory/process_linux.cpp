// Services of the process for memory, on Linux; see process.hpp.
#include "memory/process.hpp"

#include <atomic>
#include <dlfcn.h>
#include <pthread.h>

namespace zlink::platform {

namespace {
std::atomic<bool> stays_loaded{false};
std::atomic<bool> is_at_exit{false};
struct note_of_exit {
    ~note_of_exit() { is_at_exit.store(true, std::memory_order_relaxed); }
} const at_exit;
}  // namespace

/// Not at exit: there the loader takes a library that it opens for new, and initialises it once
/// more, under threads that are at work.
void stay_loaded() noexcept {
    if (is_at_exit.load(std::memory_order_relaxed) || stays_loaded.load(std::memory_order_relaxed))
        return;
    Dl_info here;
    if (::dladdr(reinterpret_cast<void *>(&stay_loaded), &here) != 0 && here.dli_fname &&
        ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
        stays_loaded.store(true, std::memory_order_relaxed);
}

bool around_fork(void (*before)(), void (*after)()) noexcept {
    return ::pthread_atfork(before, after, after) == 0;
}

}  // namespace zlink::platform
