// A number that several threads raise, and none lowers.
//
// Order:    none but its own: who has seen a number sees no smaller one after it.
#pragma once

#include <algorithm>
#include <atomic>

namespace zlink {

/// Makes it `now` if it was less. Returns what it is then, at least.
template <class Number>
Number raise_to(std::atomic<Number> &most, Number now) noexcept {
    Number before = most.load(std::memory_order_relaxed);
    while (before < now && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
    return std::max(before, now);
}

}  // namespace zlink
