// Allocations that fail inside of a call of the library's, by the seed.
//
// Flow:     an actor arms an object of this around one call; the n-th allocation from there on fails, once. What the simulator
//           itself allocates meanwhile, behind the seams, does not count and does not fail.
// Limits:   only until somebody else gets to run.
#pragma once

namespace zlink::sim {

class short_memory {
public:
    /// The n-th allocation from now on fails; 0: none.
    explicit short_memory(unsigned nth) noexcept { left_ = nth; }
    ~short_memory() { left_ = 0; }
    short_memory(const short_memory &) = delete;
    short_memory &operator=(const short_memory &) = delete;

    /// No more failures in this call.
    static void end() noexcept { left_ = 0; }
    /// Whether this allocation is to fail.
    static bool strikes() noexcept { return left_ > 0 && --left_ == 0; }

private:
    friend class plenty_of_memory;
    static inline unsigned left_ = 0;
};

/// The simulator's own work in the middle of the library's.
class plenty_of_memory {
public:
    plenty_of_memory() noexcept : kept_(short_memory::left_) { short_memory::left_ = 0; }
    ~plenty_of_memory() { short_memory::left_ = kept_; }
    plenty_of_memory(const plenty_of_memory &) = delete;
    plenty_of_memory &operator=(const plenty_of_memory &) = delete;

private:
    const unsigned kept_;
};

}  // namespace zlink::sim
