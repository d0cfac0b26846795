// Allocations of this thread that fail when a test says so. Replaces operators of the whole program: for one file of each.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace zlink::test {

/// The n-th allocation from now fails, and those after it do not; 0: none.
inline thread_local int allocations_to_failure = 0;

/// Has the n-th allocation in a scope fail.
class scarce_memory {
public:
    explicit scarce_memory(int n) { allocations_to_failure = n; }
    ~scarce_memory() { allocations_to_failure = 0; }
    scarce_memory(const scarce_memory &) = delete;
    scarce_memory &operator=(const scarce_memory &) = delete;
    /// Whether it was reached.
    static bool has_failed() { return allocations_to_failure == 0; }
};

}  // namespace zlink::test

__attribute__((noinline)) void *operator new(std::size_t size) {
    if (zlink::test::allocations_to_failure > 0 && --zlink::test::allocations_to_failure == 0)
        throw std::bad_alloc();
    if (void *p = std::malloc(size ? size : 1))
        return p;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void *p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void *p, std::size_t) noexcept { std::free(p); }
