// The two fences between "published" and "is the other side asleep?".
//
// A publisher runs light_fence() for each message; somebody about to sleep runs heavy_fence() once before the last look.
// Together they order the publisher's store before its look at the sleeper's flag, and the sleeper's flag before its look
// at what was published. The light one costs nothing: the heavy one makes every running thread of the process pass a full
// barrier (membarrier(2)). Where the system lacks membarrier, both are full fences.
#pragma once

#include <atomic>

namespace zlink {

namespace detail {
extern const bool has_membarrier;
void membarrier_all() noexcept;
}  // namespace detail

#ifdef ZLINK_TSAN
// ThreadSanitizer does not model fences; a read-modify-write is a full barrier it can follow.
inline void light_fence() noexcept {
    thread_local std::atomic<int> barrier{0};
    barrier.fetch_add(1, std::memory_order_seq_cst);
}
inline void heavy_fence() noexcept { light_fence(); }
#else
inline void light_fence() noexcept {
    if (__builtin_expect(detail::has_membarrier, 1))
        std::atomic_signal_fence(std::memory_order_seq_cst);
    else
        std::atomic_thread_fence(std::memory_order_seq_cst);
}
inline void heavy_fence() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    detail::membarrier_all();
}
#endif

}  // namespace zlink
