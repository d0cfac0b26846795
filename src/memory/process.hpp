// The process itself, which outlives contexts: its forks, its end, and all locks that fork() takes.
// core/platform.hpp has the other services of the system.
//
// Fork:     what a lock here guards is whole in the child, too. All of them are taken by one
//           handler, which is registered when the library is loaded: a fork that begins before
//           would not know of a lock that another thread takes meanwhile.
// Exit:     nothing here is destroyed: threads, and messages, may outlive main().
// Threads:  any.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <pthread.h>

namespace zlink::platform {

/// fork() takes them in this order, and gives them back in both processes. With one of them nobody
/// calls the heap, or waits for another lock, but for that of a pool behind the list of pools.
struct locks_of_process {
    /// On a line of its own: who takes one does not slow down another.
    struct alignas(64) lined_mutex : std::mutex {};

    lined_mutex handles;       // capi/handles.cpp
    lined_mutex closer;        // transport/passed_descriptors.cpp
    lined_mutex watches;       // core/descriptor_watch.cpp
    lined_mutex keys;          // core/secret_arena.cpp
    lined_mutex lent_records;  // memory/lent_records.cpp
    lined_mutex large_blocks;  // memory/large_blocks.cpp: nobody waits for it
    lined_mutex pools;         // memory/chunk.cpp: the list
    /// There are as many as contexts are likely to be in use at once, and few enough to take all.
    std::array<lined_mutex, 16> each_pool;
    lined_mutex huge_blocks;  // memory/huge_blocks.cpp

    template <class Step>
    void for_each(Step step) {
        for (lined_mutex *each : {&handles, &closer, &watches, &keys, &lent_records, &large_blocks, &pools})
            step(*each);
        for (lined_mutex &each : each_pool)
            step(each);
        step(huge_blocks);
    }
};
static_assert(sizeof(locks_of_process) == 24 * sizeof(locks_of_process::lined_mutex),
              "for_each() is to have them all");
extern locks_of_process locks __attribute__((visibility("hidden")));

/// Found out when the library is loaded. Nothing of it is true before that, and whoever asks so
/// early does without.
struct facts_of_process {
    bool has_membarrier;  // see membarrier_all()
    bool has_locks;       // fork() takes them
    bool has_key;
    pthread_key_t key;  // by which a thread ends what it has
};
extern const facts_of_process facts __attribute__((visibility("hidden")));

/// Grows by one in a child of fork. Objects remember it to learn that they were inherited.
unsigned fork_generation() noexcept;
/// Has fork() call `run` in each child, which finds the generation grown if this comes once the
/// library is loaded. False when memory is short.
bool in_child_of_fork(void (*run)()) noexcept;

/// Every running thread of the process passes a full barrier, by membarrier(2), where there is
/// that.
void membarrier_all() noexcept;

/// Has the calling thread call `run` when it ends, behind the destructors of thread_locals. One for
/// a thread; false when the system refuses.
bool at_end_of_thread(void (*run)()) noexcept;

/// From now on dlclose leaves the library where it is, whatever this is linked into: a thread of
/// its own may go on.
void stay_loaded() noexcept;
/// To be called before threads of the library's own are there, of which one may call that while
/// another one ends the process.
void expect_exit() noexcept;

}  // namespace zlink::platform
