// The I/O threads of a context: each a loop of its own, and the choice among them.
//
// Threads:  make, stop and destruction: one thread, not an I/O thread. choose, add_load,
//           remove_load: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/io_tally.hpp"
#include "core/platform.hpp"
#include "reactor/loop.hpp"

namespace zlink {

struct thread_options {
    std::string name_prefix;  // before "ZMQbg/IO/<n>"
    platform::thread_scheduling scheduling;
};

class io_threads {
public:
    /// The descriptors that a thread has for itself: for waiting, its alarm, and to be woken.
    static constexpr std::size_t descriptors_of_thread = 3;

    /// Starts `count` threads (at least one), with all signals blocked. All or nothing:
    /// too_many_files, no_memory, again (no more threads). Scheduling that the system refuses is
    /// left as it is.
    static error make(std::size_t count, const thread_options &options,
                      std::unique_ptr<io_threads> &out) noexcept;
    /// Stops.
    ~io_threads();
    io_threads(const io_threads &) = delete;
    io_threads &operator=(const io_threads &) = delete;

    /// Lets the threads run what has been posted, and joins them. Objects of the loops must be gone
    /// or go at once.
    void stop() noexcept;

    std::size_t size() const noexcept;
    /// Any thread.
    io_thread_numbers numbers_of(std::size_t index) const noexcept;
    loop &at(std::size_t index) noexcept;
    /// The loop with the least load among those whose bit is set in `affinity` (0: all of them);
    /// null when there is none.
    loop *choose(std::uint64_t affinity) noexcept;
    /// Counts an object that lives on a loop, for choose().
    static void add_load(loop &on) noexcept;
    static void remove_load(loop &on) noexcept;

private:
    struct threads;
    explicit io_threads(std::unique_ptr<threads> t) noexcept;
    std::unique_ptr<threads> threads_;
};

}  // namespace zlink
