// Allocations of a thread that fail when a test says so. Of programs that scarce_memory.cpp is part
// of (tests/CMakeLists.txt).
//
// Flow:     an object of this is made around one call of the code under test; the n-th allocation
//           from there on fails, once. What a test itself allocates meanwhile, behind the seams,
//           does not count and does not fail: there it has plenty of memory.
// Beside:   short_heap.hpp, where memory stays short, or is counted. failing_allocation.hpp, where
//           only nothrow allocations fail.
#pragma once

namespace zlink::test {

class scarce_memory {
public:
    /// The n-th allocation from now on fails; 0: none.
    explicit scarce_memory(unsigned nth) noexcept { left_ = nth; }
    ~scarce_memory() { left_ = 0; }
    scarce_memory(const scarce_memory &) = delete;
    scarce_memory &operator=(const scarce_memory &) = delete;

    /// Whether it has come to that, or need not any more.
    static bool has_failed() noexcept { return left_ == 0; }
    /// No more failures in this call.
    static void end() noexcept { left_ = 0; }
    /// For the operators: whether this allocation is to fail.
    static bool strikes() noexcept { return left_ > 0 && --left_ == 0; }

private:
    friend class plenty_of_memory;
    static inline thread_local unsigned left_ = 0;
};

/// The test's own work in the middle of that call.
class plenty_of_memory {
public:
    plenty_of_memory() noexcept : kept_(scarce_memory::left_) { scarce_memory::left_ = 0; }
    ~plenty_of_memory() { scarce_memory::left_ = kept_; }
    plenty_of_memory(const plenty_of_memory &) = delete;
    plenty_of_memory &operator=(const plenty_of_memory &) = delete;

private:
    const unsigned kept_;
};

}  // namespace zlink::test
