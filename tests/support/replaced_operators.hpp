// The allocation operators of a whole program, by two functions of the one file that includes this:
// allocate() and release(), in an unnamed namespace. `alignment` is 0 where malloc()'s will do.
#pragma once

#include <cstddef>
#include <new>

namespace {

void *allocate(std::size_t size, std::size_t alignment) noexcept;
void release(void *what) noexcept;

/// The size as std::aligned_alloc() wants it.
constexpr std::size_t whole_units(std::size_t size, std::size_t alignment) noexcept {
    return (size + alignment - 1) / alignment * alignment;
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
void operator delete(void *what) noexcept { release(what); }
void operator delete[](void *what) noexcept { release(what); }
void operator delete(void *what, std::size_t) noexcept { release(what); }
void operator delete[](void *what, std::size_t) noexcept { release(what); }
void operator delete(void *what, const std::nothrow_t &) noexcept { release(what); }
void operator delete[](void *what, const std::nothrow_t &) noexcept { release(what); }
void operator delete(void *what, std::align_val_t) noexcept { release(what); }
void operator delete(void *what, std::size_t, std::align_val_t) noexcept { release(what); }
void operator delete(void *what, std::align_val_t, const std::nothrow_t &) noexcept { release(what); }
