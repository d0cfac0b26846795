// Contract: what the library asks of the operating system besides I/O. One twin per system
//           (platform_linux.cpp).
//
// Every function is safe from any thread, unless it says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <set>
#include <signal.h>
#include <string_view>

#include "core/error.hpp"
#include "core/random.hpp"
#include "core/waiter.hpp"
#include "memory/process.hpp"

struct pollfd;

namespace zlink::platform {

/// Names the calling thread in tools; longer names are cut to what the system takes (15 octets on
/// Linux).
void name_this_thread(const char *name) noexcept;

/// The scheduling of I/O threads; the values of ZMQ_THREAD_*.
struct thread_scheduling {
    int policy = -1;         // SCHED_ of sched(7), -1 = as the process
    int priority = -1;       // -1 = as the process; nice levels where the policy has no priorities
    std::set<int> affinity;  // processor numbers; empty = all
};
/// Applies it to the calling thread, as far as the system lets; the first refusal is returned.
error schedule_this_thread(const thread_scheduling &how) noexcept;

/// Blocks all signals in the calling thread for the object's lifetime. Threads started meanwhile
/// inherit that.
class signal_shield {
public:
    signal_shield() noexcept;
    ~signal_shield();
    signal_shield(const signal_shield &) = delete;
    signal_shield &operator=(const signal_shield &) = delete;

private:
    alignas(8) unsigned char kept_[128];
};

/// Blocks all signals in the calling thread for good.
void block_all_signals() noexcept;

/// Has what cancels the calling thread (pthread_cancel) wait for the object's lifetime. To be used
/// around every call of the system's that is a cancellation point, on a thread of the
/// application's: what has begun comes to its end. Of asynchronous cancellation nothing is
/// promised.
class cancellation_shield {
public:
    cancellation_shield() noexcept;
    ~cancellation_shield();
    cancellation_shield(const cancellation_shield &) = delete;
    cancellation_shield &operator=(const cancellation_shield &) = delete;

private:
    int kept_ = 0;
};

/// Whether the C library unwinds the stack of a thread that it ends. That of musl does not: there
/// the library unwinds what is its own, by an exception, and its caller's frames are left as they
/// are.
#ifdef PTHREAD_CANCEL_MASKED
inline constexpr bool unwinds_cancelled_threads = false;
#else
inline constexpr bool unwinds_cancelled_threads = true;
#endif
/// That exception. What is caught on its way is std::exception, which it is none of.
struct end_of_thread {};

/// Ends the calling thread if it is to be cancelled: what is on its stack is unwound, as by an
/// exception. (The C library ends the process where a handler of all exceptions does not pass this
/// one on, or a function must not throw.) Throws end_of_thread where nobody else unwinds.
void end_if_cancelled();
/// Ends the calling thread as one that was cancelled, once an end_of_thread was caught.
[[noreturn]] void end_cancelled_thread();
/// poll(2), in which the thread may end so.
int poll_as_caller(::pollfd *items, std::size_t count, int timeout_ms);
/// The signals that poll_as_caller() lets in on this thread, as long as it stands, are those that
/// the mask does not block, as in ppoll(2).
class sleeping_mask {
public:
    explicit sleeping_mask(const ::sigset_t &mask) noexcept;
    ~sleeping_mask();
    sleeping_mask(const sleeping_mask &) = delete;
    sleeping_mask &operator=(const sleeping_mask &) = delete;
};

struct credentials {
    int pid = -1;
    unsigned uid = 0;
    unsigned gid = 0;
};
/// The process at the other end of a local stream socket; false when the system cannot tell.
bool peer_credentials(int descriptor, credentials &out) noexcept;
/// Whether a user belongs to a group, as its primary or as a supplementary one.
bool is_in_group(unsigned uid, unsigned primary_gid, unsigned gid) noexcept;

/// The file that this library was loaded from: itself, or the program that it is a part of. Empty
/// when the system cannot tell.
const char *path_of_library() noexcept;

/// Writes to the error output, by one write(2). What that does not take is lost. There is no signal
/// where nobody reads it.
void write_error_output(std::string_view octets) noexcept;

/// The monotonic clock. Lives for ever.
const clock_source &steady_clock() noexcept;

/// The number of times that the system has taken the calling thread's processor away for another
/// thread. Some 300 ns.
long interruptions() noexcept;

/// The processor time used up to now. Some 500 ns.
struct processor_use {
    duration by_process{}, by_this_thread{};
    int processors = 1;  // that the calling thread may run on
};
processor_use use_of_processors() noexcept;

/// The clock of the calling thread's processor time, which any thread may read; -1 where there is
/// none.
int processor_clock_of_this_thread() noexcept;
/// Its time; less than 0 once the thread has ended.
duration read_processor_clock(int clock) noexcept;

/// Unpredictable numbers of the system's generator, fetched in blocks. Any thread; never repeats
/// after fork. Null when memory is short.
std::unique_ptr<random_source> make_random_source() noexcept;

/// Octets of the system's generator that keys can be made of. False when it gives none. Any thread;
/// costs a system call.
bool draw_secret_octets(std::uint8_t *to, std::size_t size) noexcept;

/// The waiter of real life: eventfd(2), and poll(2) or for many items epoll(7). Any number of
/// threads may wait in it at once. Null when memory is short. `clock` must outlive it. `spins`:
/// nobody looks again and again instead of waiting where it is false, nor where there is one
/// processor.
std::unique_ptr<waiter> make_waiter(const clock_source &clock, bool spins = true) noexcept;

}  // namespace zlink::platform
