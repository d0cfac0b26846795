// The counts that zmq_debug_get_* report: how bodies went from the application to the kernel. And
// one that tests alone ask for.
// Nothing at all in a build without ZMQ_DEBUG_COUNTERS: the functions are empty, and a tally has no
// size where it is a member that may share its address.
//
// Threads:  any. The counters are independent of each other, and order nothing.
#pragma once

#include <cstddef>

#ifdef ZMQ_DEBUG_COUNTERS
#include <array>
#include <atomic>
#endif

namespace zlink::debug_counters {

enum class count {
    uncopied_bodies,  // bodies that the kernel has taken, whole, from the message's own memory
    copying_writes,   // writes that took copied octets only
    copied_octets,    // of bodies
    gathered_writes,  // of more than one range
    partial_writes,   // of which the kernel took some, but not all
    depth_looks,      // of a writer without room at what its reader changes with each message
};

#ifdef ZMQ_DEBUG_COUNTERS

constexpr bool are_built = true;

inline std::array<std::atomic<std::size_t>, 6> values{};

inline std::atomic<std::size_t> &value_of(count what) noexcept {
    return values[static_cast<std::size_t>(what)];
}
inline void add(count what, std::size_t more = 1) noexcept {
    value_of(what).fetch_add(more, std::memory_order_relaxed);
}
inline std::size_t get(count what) noexcept { return value_of(what).load(std::memory_order_relaxed); }
inline void reset() noexcept {
    for (auto &value : values)
        value.store(0, std::memory_order_relaxed);
}

/// A number that only the counters need.
class tally {
public:
    void add() noexcept { ++value_; }
    bool is_zero() const noexcept { return value_ == 0; }

private:
    std::size_t value_ = 0;
};

#else

constexpr bool are_built = false;

inline void add(count, std::size_t = 1) noexcept {}

class tally {
public:
    void add() noexcept {}
    bool is_zero() const noexcept { return true; }
};

#endif

}  // namespace zlink::debug_counters
