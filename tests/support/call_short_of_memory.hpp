// A call whose n-th allocation fails.
#pragma once

#include <new>

#include "scarce_memory.hpp"

namespace zlink::test {

inline constexpr int most_allocations = 20;  // of one call, and more

/// Calls with the n-th allocation failing. True when memory was short.
template <class Call>
inline bool fails_with_short_memory(unsigned nth, Call call) {
    const scarce_memory scarce(nth);
    bool has_failed = false;
    try {
        call();
    } catch (const std::bad_alloc &) {
        has_failed = true;
    }
    return has_failed || scarce_memory::has_failed();
}

}  // namespace zlink::test
