// The chunk pool: one bounded free list per size class; larger chunks are large blocks.
//
// Order:    the list of all pools, and their locks; where a chunk's memory comes from and goes;
//           pools made, ended and emptied; allocating, growing, giving back.
#include "memory/chunk.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "memory/huge_blocks.hpp"
#include "memory/large_blocks.hpp"
#include "memory/process.hpp"

namespace zlink {

namespace {

constexpr std::size_t cached_per_class = 4u << 20;     // octets
constexpr std::size_t ageless_per_class = 512u << 10;  // of these
// Chunks: whoever sends waits for the lock meanwhile.
constexpr std::size_t given_back_at_once = 256;
// In a chunk's size class: its memory is of a huge page.
constexpr std::uint32_t huge_bit = 0x80000000;

struct pools_of_process {
    chunk_pool *first = nullptr;  // guarded by locks.pools, which is taken before that of a pool
    std::atomic<std::uint32_t> next_lock{0};

    std::mutex &lock_for_one() noexcept {
        auto &locks = platform::locks.each_pool;
        return locks[next_lock.fetch_add(1, std::memory_order_relaxed) % locks.size()];
    }
};
constinit pools_of_process pools;

constexpr std::size_t memory_size(std::size_t capacity) noexcept {
    return (sizeof(chunk) + capacity + 63) / 64 * 64;
}

constexpr std::size_t most_octets_of_chunk = static_cast<std::size_t>(PTRDIFF_MAX) - 2 * sizeof(chunk);

constexpr std::uint32_t first_cut_class = 10;  // 64 KiB

void destroy(chunk *c, std::uint32_t class_count) noexcept {
    const std::size_t size = memory_size(c->capacity);
    const std::uint32_t c_class = c->size_class & ~huge_bit;
    const bool is_huge = c->size_class & huge_bit;
    const bool is_cut = !is_huge && c_class >= first_cut_class && c_class < class_count;
    c->~chunk();
    if (is_huge) {
        huge_blocks::release(c);
        return;
    }
    if (is_cut)
        huge_blocks::note_heap_block(size, false);
    if (c_class >= class_count)
        large_blocks::release(c, size);
    else
        std::free(c);
}

/// Without a lock: the heap may have locks of its own.
void destroy_all(chunk *gone, std::uint32_t class_count) noexcept {
    while (gone)
        destroy(std::exchange(gone, gone->next_free), class_count);
}

}  // namespace

chunk_pool::chunk_pool() noexcept : mutex_(pools.lock_for_one()) {
    const std::lock_guard lock(platform::locks.pools);
    next_pool_ = std::exchange(pools.first, this);
}

/// Idle memory of other contexts goes, too; they ask for it again.
chunk_pool::~chunk_pool() {
    {
        const std::lock_guard lock(platform::locks.pools);
        chunk_pool **at = &pools.first;
        while (*at != this)
            at = &(*at)->next_pool_;
        *at = next_pool_;
    }
    destroy_all(take_idle(nullptr), class_count);
    huge_blocks::give_up_idle();
    large_blocks::give_up_kept();
}

/// Puts what is idle in front of `gone`, and returns all of it.
chunk *chunk_pool::take_idle(chunk *gone) noexcept {
    const std::lock_guard lock(mutex_);
    for (free_list &list : free_) {
        while (chunk *c = list.head) {
            list.head = c->next_free;
            c->next_free = std::exchange(gone, c);
        }
        octets_.fetch_sub(list.count * class_size(static_cast<std::size_t>(&list - free_.data())),
                          std::memory_order_relaxed);
        list.count = list.least = 0;
    }
    return gone;
}

void chunk_pool::give_up_idle() noexcept {
    chunk *gone = nullptr;
    {
        const std::lock_guard lock(platform::locks.pools);
        for (chunk_pool *each = pools.first; each; each = each->next_pool_)
            gone = each->take_idle(gone);
    }
    destroy_all(gone, class_count);
    huge_blocks::give_up_idle();
    large_blocks::give_up_kept();
}

void chunk_pool::age_idle(time_point now) noexcept {
    const duration::rep at = now.time_since_epoch().count();
    duration::rep due = next_look_.load(std::memory_order_relaxed);
    if (at < due || !next_look_.compare_exchange_strong(due, at + duration(between_looks).count(),
                                                        std::memory_order_relaxed))
        return;
    has_ageing_.store(false, std::memory_order_relaxed);  // who gives back meanwhile says so again
    chunk *gone = nullptr;
    bool has_more = false;
    {
        const std::lock_guard lock(platform::locks.pools);
        for (chunk_pool *each = pools.first; each; each = each->next_pool_)
            has_more |= each->age(gone);
    }
    destroy_all(gone, class_count);
    if (has_more)
        has_ageing_.store(true, std::memory_order_relaxed);
}

/// Puts what goes in front of `gone`. Whether there is more that ages.
bool chunk_pool::age(chunk *&gone) noexcept {
    bool has_more = false;
    for (std::size_t index = 0; index < class_count; ++index) {
        const std::size_t ageless = ageless_per_class / class_size(index);
        std::size_t unused = 0;
        {
            const std::lock_guard lock(mutex_);
            free_list &list = free_[index];
            if (list.least > ageless)
                unused = (list.least - ageless + 1) / 2;
            list.least = list.count;
            has_more |= list.count > ageless;
        }
        for (; unused > 0; unused -= std::min(unused, given_back_at_once))
            gone = take_unused(index, std::min(unused, given_back_at_once), gone);
    }
    return has_more;
}

/// Puts up to so many in front of `gone`, and returns all of it.
chunk *chunk_pool::take_unused(std::size_t index, std::size_t count, chunk *gone) noexcept {
    const std::lock_guard lock(mutex_);
    free_list &list = free_[index];
    const std::size_t before = list.count;
    for (; count > 0 && list.head; --count, --list.count) {
        chunk *const c = std::exchange(list.head, list.head->next_free);
        c->next_free = std::exchange(gone, c);
    }
    octets_.fetch_sub((before - list.count) * class_size(index), std::memory_order_relaxed);
    list.least = std::min(list.least, list.count);
    return gone;
}

std::size_t chunk_pool::idle_octets() noexcept {
    const std::lock_guard lock(mutex_);
    std::size_t octets = 0;
    for (std::size_t index = 0; index < class_count; ++index)
        octets += free_[index].count * class_size(index);
    return octets;
}

/// A chunk is counted when its memory comes from the heap and goes back there: one that is used
/// again costs nothing for it.
std::size_t chunk_pool::used_octets() noexcept {
    const std::size_t idle = idle_octets();
    return std::max(octets_.load(std::memory_order_relaxed), idle) - idle;
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
            list.least = std::min(list.least, --list.count);
        }
    }
    if (c) {
        c->references.store(1, std::memory_order_relaxed);
        c->next_free = nullptr;
    } else {
        const std::size_t capacity = index < class_count ? class_capacity(index) : size;
        if (capacity > most_octets_of_chunk)
            return nullptr;
        auto size_class = static_cast<std::uint32_t>(index);
        const bool is_cut = index >= first_cut_class && index < class_count;
        void *memory = is_cut ? huge_blocks::allocate(memory_size(capacity)) : nullptr;
        if (memory) {
            size_class |= huge_bit;
        } else {
            const auto ask_heap = [&] {
                return index < class_count ? std::malloc(memory_size(capacity))
                                           : large_blocks::allocate(memory_size(capacity));
            };
            memory = ask_heap();
            if (!memory) {
                give_up_idle();
                memory = ask_heap();
            }
            if (!memory)
                return nullptr;
            if (is_cut)
                huge_blocks::note_heap_block(memory_size(capacity), true);
        }
        c = new (memory) chunk(&dispose, capacity, size_class);
        if (index < class_count)
            octets_.fetch_add(class_size(index), std::memory_order_relaxed);
    }
    c->home = shared_from_this();
    return c;
}

/// A chunk in a large block.
chunk *chunk_pool::adopt(void *memory, std::size_t capacity) noexcept {
    if (!memory)
        return nullptr;
    auto *const c = new (memory) chunk(&dispose, capacity, class_count);
    c->home = shared_from_this();
    return c;
}

chunk *chunk_pool::allocate_held(std::size_t size) noexcept {
    if (size <= class_capacity(class_count - 1) || size > most_octets_of_chunk)
        return nullptr;
    return adopt(large_blocks::take_kept(memory_size(size)), size);
}

chunk *chunk_pool::grow(chunk *small, std::size_t size, std::size_t used) noexcept {
    if (size > most_octets_of_chunk)
        return nullptr;
    const std::size_t before = small->capacity;
    if (small->size_class != class_count || size <= before) {
        chunk *const larger = allocate(size);
        if (larger) {
            std::memcpy(larger->data(), small->data(), used);
            small->release();
        }
        return larger;
    }
    void *const memory =
        large_blocks::grow(small, memory_size(before), memory_size(size), sizeof(chunk) + used);
    if (!memory)
        return nullptr;
    auto *const larger =
        std::launder(reinterpret_cast<chunk *>(memory));  // moved as it is, with the other octets
    larger->capacity = size;
    return larger;
}

void chunk_pool::dispose(block *self) noexcept {
    auto *c = static_cast<chunk *>(self);
    // Taken out of the chunk first: a chunk at rest must not keep its own pool alive.
    const std::shared_ptr<chunk_pool> home = std::move(c->home);
    home->give_back(c);
}

void chunk_pool::give_back(chunk *c) noexcept {
    const std::uint32_t index = c->size_class & ~huge_bit;
    if (index < class_count) {
        std::lock_guard lock(mutex_);
        free_list &list = free_[index];
        if (list.count < cached_per_class / class_size(index)) {
            c->next_free = list.head;
            list.head = c;
            if (++list.count > ageless_per_class / class_size(index) && !has_ageing())
                has_ageing_.store(true, std::memory_order_relaxed);
            return;
        }
        octets_.fetch_sub(class_size(index), std::memory_order_relaxed);
    }
    destroy(c, class_count);
}

}  // namespace zlink
