// Huge pages of 2 MiB, each cut into blocks of one size; see huge_blocks.hpp.
//
// Order:    pages and lists by size; allocating; heap blocks counted, before there are
//           pages; releasing; idle memory.
#include "memory/huge_blocks.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <new>
#include <sys/mman.h>

#include "memory/huge_pages.hpp"
#include "memory/process.hpp"

namespace zlink::huge_blocks {

namespace {

constexpr std::size_t page_size = huge_pages::size;
constexpr std::size_t smallest_block = 64u << 10;
constexpr std::size_t largest_block = 512u << 10;
constexpr std::size_t most_sizes = 4;
constexpr std::size_t heap_blocks = 32;      // of each size, before pages are cut
constexpr std::size_t kept_empty_pages = 8;  // of each size
constexpr std::size_t most_idle_pages =
    128;  // of no size; the system may take their memory, but not their addresses

struct free_block {
    free_block *next;
};

// At the start of each page.
struct alignas(64) page {
    page *previous = nullptr;
    page *next = nullptr;
    free_block *free = nullptr;
    std::size_t used = 0;
    std::size_t block_size = 0;
};

/// All pages cut to one size. Pages with a free block are in the list.
struct size_list {
    std::size_t block_size = 0;
    page *first = nullptr;
    std::size_t empty_pages = 0;
    std::size_t on_heap = 0;

    void link(page &p) noexcept {
        p.previous = nullptr;
        p.next = first;
        if (first)
            first->previous = &p;
        first = &p;
    }
    void unlink(page &p) noexcept {
        (p.previous ? p.previous->next : first) = p.next;
        if (p.next)
            p.next->previous = p.previous;
    }
};

/// Guarded by locks.huge_blocks.
struct pages_of_process {
    std::array<size_list, most_sizes> lists;
    std::array<void *, most_idle_pages> idle{};
    std::size_t idle_count = 0;
};
constinit pages_of_process all;

size_list *list_of(std::size_t size) noexcept {
    for (size_list &list : all.lists) {
        if (list.block_size == 0)
            list.block_size = size;
        if (list.block_size == size)
            return &list;
    }
    return nullptr;
}

[[maybe_unused]] page *make_page(std::size_t block_size) noexcept {
    void *memory = all.idle_count > 0 ? all.idle[--all.idle_count] : huge_pages::map(page_size);
    if (!memory)
        return nullptr;
    page *p = new (memory) page;
    p->block_size = block_size;
    const auto at = reinterpret_cast<std::uintptr_t>(memory);
    for (std::uintptr_t block = at + page_size; (block -= block_size) >= at + sizeof(page);)
        p->free = new (reinterpret_cast<void *>(block)) free_block{p->free};
    return p;
}

/// A queue that grows and shrinks by hundreds of megabytes would have each page cleared again and
/// again if it were unmapped.
void drop_page(page *p) noexcept {
    if (all.idle_count < all.idle.size() && ::madvise(p, page_size, MADV_FREE) == 0)
        all.idle[all.idle_count++] = p;
    else
        ::munmap(p, page_size);
}

}  // namespace

void *allocate(std::size_t size) noexcept {
#ifdef __SANITIZE_ADDRESS__
    (void)size;  // the sanitizer watches the heap's blocks better
    return nullptr;
#else
    if (size < smallest_block || size > largest_block || size % 64 != 0)
        return nullptr;
    const std::lock_guard lock(platform::locks.huge_blocks);
    size_list *list = list_of(size);
    if (!list || list->on_heap < heap_blocks)
        return nullptr;
    if (!list->first) {
        page *fresh = make_page(size);
        if (!fresh)
            return nullptr;
        list->link(*fresh);
        ++list->empty_pages;
    }
    page &from = *list->first;
    list->empty_pages -= from.used == 0;
    free_block *block = from.free;
    from.free = block->next;
    ++from.used;
    if (!from.free)
        list->unlink(from);
    return block;
#endif
}

void note_heap_block(std::size_t size, bool is_new) noexcept {
    if (size < smallest_block || size > largest_block || size % 64 != 0)
        return;
    const std::lock_guard lock(platform::locks.huge_blocks);
    if (size_list *list = list_of(size))
        list->on_heap += is_new ? 1 : std::size_t{0} - 1;
}

void release(void *block) noexcept {
    page *home = reinterpret_cast<page *>(reinterpret_cast<std::uintptr_t>(block) & ~(page_size - 1));
    const std::lock_guard lock(platform::locks.huge_blocks);
    size_list &list = *list_of(home->block_size);
    if (!home->free)
        list.link(*home);
    home->free = new (block) free_block{home->free};
    if (--home->used > 0)
        return;
    if (list.empty_pages < kept_empty_pages) {
        ++list.empty_pages;
        return;
    }
    list.unlink(*home);
    drop_page(home);
}

void give_up_idle() noexcept {
    const std::lock_guard lock(platform::locks.huge_blocks);
    while (all.idle_count > 0)
        ::munmap(all.idle[--all.idle_count], page_size);
    for (size_list &list : all.lists) {
        for (page *next, *p = list.first; p; p = next) {
            next = p->next;
            if (p->used > 0)
                continue;
            list.unlink(*p);
            ::munmap(p, page_size);
        }
        list.empty_pages = 0;
    }
}

std::size_t idle_octets() noexcept {
    const std::lock_guard lock(platform::locks.huge_blocks);
    std::size_t pages = all.idle_count;
    for (const size_list &list : all.lists)
        pages += list.empty_pages;
    return pages * page_size;
}

}  // namespace zlink::huge_blocks
