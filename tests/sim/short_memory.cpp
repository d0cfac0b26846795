// The operators of the whole program: see short_memory.hpp.
#include "short_memory.hpp"

#include <cstdlib>

#include "replaced_operators.hpp"

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (zlink::sim::short_memory::strikes())
        return nullptr;
    if (size == 0)
        size = 1;
    return alignment ? std::aligned_alloc(alignment, whole_units(size, alignment)) : std::malloc(size);
}

void release(void *what) noexcept { std::free(what); }

}  // namespace
