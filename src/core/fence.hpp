// The fences between "published" and "is the other side asleep?".
//
// The store of what was published must come before the look at the sleeper's flag, and the store of
// that flag before the last look at what was published. A thread that publishes rarely runs
// full_fence(). One that publishes in bursts runs light_fence(), which costs nothing; then the
// sleeper must make up for it: it notes light_publisher_met() when it raises its flag, and
// heavy_fence() before the last look makes every running thread of the process pass a full barrier
// (membarrier(2), about 2 us). Where the system lacks membarrier, all are full fences.
#pragma once

#include <atomic>

#include "memory/process.hpp"

namespace zlink {

namespace detail {
inline thread_local bool has_met_light_publisher = false;
}

/// The calling thread raised a flag for a publisher that uses light_fence(): its next heavy_fence()
/// must reach that one.
inline void light_publisher_met() noexcept { detail::has_met_light_publisher = true; }

#ifdef ZLINK_TSAN
// ThreadSanitizer does not model fences; a read-modify-write is a full barrier it can follow.
inline void light_fence() noexcept {
    thread_local std::atomic<int> barrier{0};
    barrier.fetch_add(1, std::memory_order_seq_cst);
}
inline void full_fence() noexcept { light_fence(); }
inline void heavy_fence() noexcept { light_fence(); }
#else
inline void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void light_fence() noexcept {
    if (__builtin_expect(platform::facts.has_membarrier, 1))
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void heavy_fence() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (detail::has_met_light_publisher) {
        detail::has_met_light_publisher = false;
        platform::membarrier_all();
    }
}
#endif

}  // namespace zlink
