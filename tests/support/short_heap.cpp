// The operators of the whole program, and what the linker puts in the place of malloc() and free():
// see short_heap.hpp.
#include "short_heap.hpp"

#include <cstdlib>
#include <malloc.h>

#include "replaced_operators.hpp"

using zlink::test::short_heap;

extern "C" {
void *__real_malloc(std::size_t size);
void __real_free(void *what);

void *__wrap_malloc(std::size_t size) {
    if (short_heap::refuses(size))
        return nullptr;
    void *const made = __real_malloc(size);
    if (made)
        short_heap::note_made(::malloc_usable_size(made));
    return made;
}
void __wrap_free(void *what) {
    if (what)
        short_heap::note_freed(::malloc_usable_size(what));
    __real_free(what);
}
}

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (short_heap::refuses())
        return nullptr;
    if (size == 0)
        size = 1;
    void *const made =
        alignment ? std::aligned_alloc(alignment, whole_units(size, alignment)) : __real_malloc(size);
    if (made)
        short_heap::note_made(::malloc_usable_size(made));
    return made;
}

void release(void *what) noexcept { __wrap_free(what); }

}  // namespace
