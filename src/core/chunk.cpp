// The chunk pool: one bounded free list per size class, everything else straight from the heap.
#include "core/chunk.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace zlink {

namespace {

constexpr std::size_t smallest_class = 512;
constexpr std::size_t header_slack = 64;  // a body of exactly the class size still fits with its header
constexpr std::size_t cached_per_class = 4u << 20;  // octets

constexpr std::size_t class_size(std::size_t index) noexcept { return smallest_class << index; }
constexpr std::size_t class_capacity(std::size_t index) noexcept { return class_size(index) + header_slack; }

}  // namespace

chunk_pool::~chunk_pool() {
    for (free_list &list : free_)
        while (chunk *c = list.head) {
            list.head = c->next_free;
            c->~chunk();
            std::free(c);
        }
}

chunk *chunk_pool::allocate(std::size_t size) noexcept {
    std::size_t index = 0;
    while (index < class_count && class_capacity(index) < size)
        ++index;

    chunk *c = nullptr;
    if (index < class_count) {
        std::lock_guard lock(mutex_);
        free_list &list = free_[index];
        if ((c = list.head)) {
            list.head = c->next_free;
            --list.count;
        }
    }
    if (c) {
        c->references.store(1, std::memory_order_relaxed);
        c->next_free = nullptr;
    } else {
        const std::size_t capacity = index < class_count ? class_capacity(index) : size;
        if (capacity > static_cast<std::size_t>(PTRDIFF_MAX) - sizeof(chunk))
            return nullptr;
        void *memory = std::malloc(sizeof(chunk) + capacity);
        if (!memory)
            return nullptr;
        c = new (memory) chunk(&dispose, capacity, static_cast<std::uint32_t>(index));
    }
    c->home = shared_from_this();
    return c;
}

void chunk_pool::dispose(block *self) noexcept {
    auto *c = static_cast<chunk *>(self);
    // Taken out of the chunk first: a chunk at rest must not keep its own pool alive.
    const std::shared_ptr<chunk_pool> home = std::move(c->home);
    home->give_back(c);
}

void chunk_pool::give_back(chunk *c) noexcept {
    if (c->size_class < class_count) {
        std::lock_guard lock(mutex_);
        free_list &list = free_[c->size_class];
        if (list.count < cached_per_class / class_size(c->size_class)) {
            c->next_free = list.head;
            list.head = c;
            ++list.count;
            return;
        }
    }
    c->~chunk();
    std::free(c);
}

}  // namespace zlink
