// The operators of the whole program, and what the linker puts in the place of malloc() and free(): see short_heap.hpp.
#include "short_heap.hpp"

#include <cstdlib>
#include <malloc.h>
#include <new>

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
    void *const made = alignment
                           ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                           : __real_malloc(size);
    if (made)
        short_heap::note_made(::malloc_usable_size(made));
    return made;
}

void *allocate_or_throw(std::size_t size, std::size_t alignment) {
    if (void *made = allocate(size, alignment))
        return made;
    throw std::bad_alloc();
}

}  // namespace

void *operator new(std::size_t size) { return allocate_or_throw(size, 0); }
void *operator new[](std::size_t size) { return allocate_or_throw(size, 0); }
void *operator new(std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return allocate(size, 0); }
void *operator new(std::size_t size, std::align_val_t alignment) {
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void *what) noexcept { __wrap_free(what); }
void operator delete[](void *what) noexcept { __wrap_free(what); }
void operator delete(void *what, std::size_t) noexcept { __wrap_free(what); }
void operator delete[](void *what, std::size_t) noexcept { __wrap_free(what); }
void operator delete(void *what, const std::nothrow_t &) noexcept { __wrap_free(what); }
void operator delete[](void *what, const std::nothrow_t &) noexcept { __wrap_free(what); }
void operator delete(void *what, std::align_val_t) noexcept { __wrap_free(what); }
void operator delete(void *what, std::size_t, std::align_val_t) noexcept { __wrap_free(what); }
void operator delete(void *what, std::align_val_t, const std::nothrow_t &) noexcept { __wrap_free(what); }
