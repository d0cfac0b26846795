// The first call of libsodium's, which chooses the quickest code for this processor.
//
// Fork:     libsodium takes a lock of its own for it, which fork() does not. So it is not called
//           again once it was done.
// Threads:  any.
#pragma once

#include <atomic>
#include <sodium.h>

namespace zlink {

inline constinit std::atomic<bool> sodium_is_ready{false};

/// False where the system has no random octets.
inline bool begin_sodium() noexcept {
    if (sodium_is_ready.load(std::memory_order_acquire))
        return true;
    if (sodium_init() < 0)
        return false;
    sodium_is_ready.store(true, std::memory_order_release);
    return true;
}

}  // namespace zlink
