// The operators of the whole program: see short_memory.hpp.
#include "short_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept {
    if (zlink::sim::short_memory::strikes())
        return nullptr;
    if (size == 0)
        size = 1;
    return alignment ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(size);
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
void operator delete(void *what) noexcept { std::free(what); }
void operator delete[](void *what) noexcept { std::free(what); }
void operator delete(void *what, std::size_t) noexcept { std::free(what); }
void operator delete[](void *what, std::size_t) noexcept { std::free(what); }
void operator delete(void *what, const std::nothrow_t &) noexcept { std::free(what); }
void operator delete[](void *what, const std::nothrow_t &) noexcept { std::free(what); }
void operator delete(void *what, std::align_val_t) noexcept { std::free(what); }
void operator delete(void *what, std::size_t, std::align_val_t) noexcept { std::free(what); }
void operator delete(void *what, std::align_val_t, const std::nothrow_t &) noexcept { std::free(what); }
