// The operators of the whole program: see scarce_memory.hpp.
#include "scarce_memory.hpp"

#include <cstdlib>

#include "replaced_operators.hpp"

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (zlink::test::scarce_memory::strikes())
        return nullptr;
    if (size == 0)
        size = 1;
    return alignment ? std::aligned_alloc(alignment, whole_units(size, alignment)) : std::malloc(size);
}

void release(void *what) noexcept { std::free(what); }

}  // namespace
