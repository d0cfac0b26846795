// Nothrow allocations that fail when a test says so. Replaces an operator of the whole program: for
// one file of each.
#pragma once

#include <cstddef>
#include <new>

namespace {

int failing_allocation = 0;  // the n-th nothrow allocation from now fails; 0: none

}  // namespace

void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    if (failing_allocation > 0 && --failing_allocation == 0)
        return nullptr;
    try {
        return ::operator new(size);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}
