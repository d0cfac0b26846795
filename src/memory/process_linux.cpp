// The process, on Linux; see process.hpp.
//
// Map:      the locks, and what else changes; fork; what is found out; the functions.
#include "memory/process.hpp"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zlink::platform {

constinit locks_of_process locks;

namespace {

struct state_of_process {
    std::atomic<unsigned> generation{0};
    std::atomic<bool> stays_loaded{false};
    std::atomic<bool> is_at_exit{false};
    std::atomic<bool> is_exit_expected{false};
    std::atomic<int> openings{0};  // of the library, by threads that have not seen the exit
};
constinit state_of_process state;

/// A thread that opens the library just now is done before the loader ends it. It is not waited for
/// without end: a signal may have stopped it, and its handler have called exit().
void note_exit() noexcept {
    constexpr int most_looks = 1000;
    constexpr timespec between_looks{0, 1'000'000};
    state.is_at_exit = true;
    for (int i = 0; i < most_looks && state.openings > 0; ++i)
        (void)::nanosleep(&between_looks, nullptr);
}

/// The loader has begun to end the library by then: see expect_exit().
struct note_of_exit {
    ~note_of_exit() { note_exit(); }
} const at_exit;

// ---- Fork ---------------------------------------------------------------------------------------

void before_fork() noexcept {
    locks.for_each([](std::mutex &each) { each.lock(); });
}

void after_fork() noexcept {
    locks.for_each([](std::mutex &each) { each.unlock(); });
}

void after_fork_in_child() noexcept {
    ++state.generation;
    state.openings = 0;  // of the other threads of the parent
    after_fork();
}

// ---- What is found out --------------------------------------------------------------------------

bool call_membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_membarrier() noexcept {
    return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
           call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void call(void *run) noexcept { reinterpret_cast<void (*)()>(run)(); }

facts_of_process find_out() noexcept {
    facts_of_process found{};
    found.has_membarrier = register_membarrier();
    found.has_locks = ::pthread_atfork(before_fork, after_fork, after_fork_in_child) == 0;
    found.has_key = ::pthread_key_create(&found.key, call) == 0;
    return found;
}

}  // namespace

const facts_of_process facts = find_out();

// ---- The functions ------------------------------------------------------------------------------

unsigned fork_generation() noexcept { return state.generation.load(std::memory_order_relaxed); }

bool in_child_of_fork(void (*run)()) noexcept { return ::pthread_atfork(nullptr, nullptr, run) == 0; }

void membarrier_all() noexcept {
    if (!facts.has_membarrier)
        return;
    // A child of fork may have to register again.
    if (!call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) && register_membarrier())
        (void)call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool at_end_of_thread(void (*run)()) noexcept {
    return facts.has_key && ::pthread_setspecific(facts.key, reinterpret_cast<void *>(run)) == 0;
}

/// A function that is given to atexit() once a program runs comes before the loader ends anything.
void expect_exit() noexcept {
    if (!state.is_exit_expected.exchange(true))
        (void)std::atexit(note_exit);
}

/// Not at exit: there the loader takes a library that it opens for new, and initialises it once
/// more, under threads that are at work.
void stay_loaded() noexcept {
    if (state.stays_loaded.load(std::memory_order_relaxed))
        return;
    Dl_info here;
    ++state.openings;
    if (!state.is_at_exit && ::dladdr(reinterpret_cast<void *>(&stay_loaded), &here) != 0 && here.dli_fname &&
        ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE))
        state.stays_loaded.store(true, std::memory_order_relaxed);
    --state.openings;
}

}  // namespace zlink::platform
