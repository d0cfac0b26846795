// A heap that runs short when a test says so, and that is counted. Of programs that short_heap.cpp
// is part of (tests/CMakeLists.txt).
//
// Flow:     a test says which allocation is to fail, and within which calls allocations are
//           counted: what the test itself allocates between them does not count and does not fail.
// Again:    where memory is asked for once more, after idle memory was given up, the second time
//           fails as the first.
#pragma once

#include <cstddef>
#include <utility>

namespace zlink::test {

class short_heap {
public:
    /// The n-th counted allocation fails, and where `from_there_on` all that follow; with 0 none
    /// does.
    explicit short_heap(unsigned nth, bool from_there_on = false) noexcept {
        left_ = nth;
        lasts_ = from_there_on;
        refused_ = 0;
    }
    ~short_heap() { left_ = refused_ = 0; }
    short_heap(const short_heap &) = delete;
    short_heap &operator=(const short_heap &) = delete;

    /// Whether it came to that.
    static bool has_struck() noexcept { return refused_ > 0; }
    /// Blocks in use, of the whole program.
    static long blocks() noexcept { return blocks_; }
    static long octets() noexcept { return octets_; }

    /// Around a call of the code under test.
    template <class F>
    static auto counted(F &&call) {
        const counting now(true);
        return call();
    }
    /// Returns what the test does in the middle of that.
    template <class F>
    static auto uncounted(F &&call) {
        const counting now(false);
        return call();
    }

    /// For the operators.
    static bool refuses() noexcept {
        if (!counts_ || left_ == 0 || (left_ > 1 && --left_ > 0))
            return false;
        ++refused_;
        left_ = lasts_ ? 1 : 0;
        return true;
    }
    /// Does the same for malloc().
    static bool refuses(std::size_t size) noexcept {
        const bool is_again = counts_ && std::exchange(size_refused_, 0) == size && size > 0;
        if (!is_again && !refuses())
            return false;
        size_refused_ = is_again ? 0 : size;
        return true;
    }
    static void note_made(std::size_t size) noexcept {
        ++blocks_;
        octets_ += static_cast<long>(size);
    }
    static void note_freed(std::size_t size) noexcept {
        --blocks_;
        octets_ -= static_cast<long>(size);
    }

private:
    struct counting {
        explicit counting(bool on) noexcept : before(std::exchange(counts_, on)) {}
        ~counting() { counts_ = before; }
        const bool before;
    };
    static inline thread_local bool counts_ = false;
    static inline thread_local unsigned left_ = 0;
    static inline thread_local bool lasts_ = false;
    static inline thread_local unsigned refused_ = 0;
    static inline thread_local std::size_t size_refused_ = 0;
    static inline thread_local long blocks_ = 0;
    static inline thread_local long octets_ = 0;
};

}  // namespace zlink::test
