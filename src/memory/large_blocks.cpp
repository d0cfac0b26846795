// Lists of blocks by size; see large_blocks.hpp.
//
// Map:      sizes by class; memory of the system's; what is kept for all; what is kept for one
//           processor; the functions of the header.
#include "memory/large_blocks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sched.h>
#include <sys/mman.h>
#include <utility>

#include "memory/huge_pages.hpp"
#include "memory/process.hpp"

namespace zlink::large_blocks {

namespace {

constexpr std::size_t smallest = 64u << 10;
constexpr std::size_t largest = 64u << 20;
constexpr std::size_t most_octets_kept = largest + smallest;  // octets
constexpr std::size_t steps = 4;                              // from one power of two to the next
constexpr std::size_t classes = steps * std::bit_width(largest / smallest - 1) + 1;
/// The header in front of a body: one of exactly a class's size still fits.
constexpr std::size_t extra = 64;

struct kept_block {
    kept_block *next;
    std::size_t octets;
};

/// The class of the smallest blocks that hold `size` octets.
constexpr std::size_t class_of(std::size_t size) noexcept {
    const std::size_t body = std::max(size, smallest + extra) - extra;
    const std::size_t octave = std::bit_width((body - 1) / smallest);
    if (octave == 0)
        return 0;
    const std::size_t begin = smallest << (octave - 1);
    const std::size_t step = begin / steps;
    return (octave - 1) * steps + (body - begin + step - 1) / step;
}

constexpr std::size_t size_of(std::size_t index) noexcept {
    const std::size_t begin = smallest << index / steps;
    return begin + index % steps * (begin / steps) + extra;
}

constexpr bool each_class_begins_behind_the_one_before() {
    for (std::size_t index = 0; index < classes; ++index) {
        if (class_of(size_of(index)) != index || class_of(size_of(index) + 1) != index + 1)
            return false;
    }
    return class_of(smallest) == 0 && size_of(classes - 1) == largest + extra;
}
static_assert(each_class_begins_behind_the_one_before());

#ifdef __SANITIZE_ADDRESS__
constexpr bool watches_heap = true;  // the sanitizer does, and better what is not kept
#else
constexpr bool watches_heap = false;
#endif

constexpr bool is_kept_size(std::size_t size) noexcept {
    return !watches_heap && size >= smallest && size <= largest + extra;
}

/// The capacity of a block for so many octets.
constexpr std::size_t octets_for(std::size_t size) noexcept {
    return is_kept_size(size) ? size_of(class_of(size)) : size;
}

// ---- memory of the system's, from two huge pages on: those cost a five-hundredth of the page
//     faults ----

using huge_pages::whole_pages;

constexpr bool is_mapped(std::size_t octets) noexcept { return !watches_heap && octets >= huge_pages::size; }

void *obtain(std::size_t octets) noexcept {
    return is_mapped(octets) ? huge_pages::map(octets) : std::malloc(octets);
}

void dispose(void *memory, std::size_t octets) noexcept {
    if (is_mapped(octets))
        ::munmap(memory, whole_pages(octets));
    else
        std::free(memory);
}

enum class outcome { moved, stayed, place_lost, no_room };

/// Moves pages to the front of another mapping, which they replace. Memory where they stayed is
/// cleared; memory that is lost may belong to another thread by now.
outcome move_pages(void *from, void *to, std::size_t size) noexcept {
    if (::mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
        return outcome::moved;
    // The system has unmapped the place, most likely. It is taken again, unless something is there:
    // what that is nobody can tell.
    void *const again =
        ::mmap(to, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again == to)
        return outcome::stayed;
    if (again == MAP_FAILED)
        return errno == EEXIST ? outcome::place_lost : outcome::no_room;
    ::munmap(again, size);  // a system that takes the place for a wish
    return outcome::place_lost;
}

// ---- what is kept ----

/// Whoever does not get the lock does without.
class hold {
public:
    hold() noexcept : is_mine_(platform::locks.large_blocks.try_lock()) {}
    ~hold() {
        if (is_mine_)
            platform::locks.large_blocks.unlock();
    }
    hold(const hold &) = delete;
    hold &operator=(const hold &) = delete;
    explicit operator bool() const noexcept { return is_mine_; }

private:
    const bool is_mine_;
};

// For who has the hold:
struct block_list {
    kept_block *first = nullptr;
    std::size_t octets = 0;
};
std::array<block_list, classes> lists;
std::atomic<std::size_t> kept{0};  // octets in all lists; changed with the hold, looked at by all

void *take(std::size_t index) noexcept {
    block_list &list = lists[index];
    kept_block *const found = list.first;
    if (found) {
        list.first = found->next;
        list.octets -= size_of(index);
        kept.store(kept.load(std::memory_order_relaxed) - size_of(index), std::memory_order_relaxed);
    }
    return found;
}

void keep(void *memory, std::size_t index) noexcept {
    block_list &list = lists[index];
    list.first = new (memory) kept_block{list.first, size_of(index)};
    list.octets += size_of(index);
    kept.store(kept.load(std::memory_order_relaxed) + size_of(index), std::memory_order_relaxed);
}

/// Gives up blocks of all classes but one until `most` octets are left. Returns them, linked.
kept_block *give_up(std::size_t most, std::size_t but_of) noexcept {
    kept_block *gone = nullptr;
    for (std::size_t index = classes; index-- > 0;) {
        while (kept.load(std::memory_order_relaxed) > most && index != but_of && lists[index].first)
            gone = new (take(index)) kept_block{gone, size_of(index)};
    }
    return gone;
}

/// Without the hold: the heap may have locks of its own.
void free_all(kept_block *gone) noexcept {
    while (gone) {
        kept_block *const next = gone->next;
        dispose(gone, gone->octets);
        gone = next;
    }
}

/// Puts a block into the list of its size, in the place of others, or gives it back.
void keep_far(kept_block *block) noexcept {
    const std::size_t index = class_of(block->octets);
    block->next = nullptr;
    kept_block *gone = block;
    {
        const hold mine;
        if (mine && lists[index].octets + size_of(index) <= most_octets_kept) {
            gone = give_up(most_octets_kept - size_of(index), index);
            keep(block, index);
        }
    }
    free_all(gone);
}

// ---- what is kept for the processor that it came back to ----

/// A block is written faster where it is in the processor's cache. By a common list, two sides that
/// send and receive in turns would give each other their blocks.
constexpr std::size_t nearby_slots = 8;
constexpr std::size_t largest_nearby = (2u << 20) + extra;

struct alignas(64) slot {
    std::atomic<kept_block *> block{nullptr};
    // For people who ask: in the midst of an exchange less or more.
    std::atomic<std::size_t> octets{0};

    kept_block *put(kept_block *next) noexcept {
        if (next)
            octets.fetch_add(next->octets, std::memory_order_relaxed);
        kept_block *const older = block.exchange(next, std::memory_order_acq_rel);
        if (older)
            octets.fetch_sub(older->octets, std::memory_order_relaxed);
        return older;
    }
};
std::array<slot, nearby_slots> nearby;

slot &slot_of(unsigned processor) noexcept { return nearby[processor % nearby_slots]; }

/// The one that it had goes to the lists.
void keep_nearby(slot &where, kept_block *block) noexcept {
    if (kept_block *const older = where.put(block))
        keep_far(older);
}

/// Null where the one of this processor has another size.
void *take_nearby(std::size_t index) noexcept {
    slot &here = slot_of(this_processor());
    if (!here.block.load(std::memory_order_relaxed))
        return nullptr;
    kept_block *const found = here.put(nullptr);
    if (!found || found->octets == size_of(index))
        return found;
    keep_nearby(here, found);
    return nullptr;
}

}  // namespace

void *take_kept(std::size_t size) noexcept {
    if (!is_kept_size(size))
        return nullptr;
    if (size <= largest_nearby)
        if (void *const found = take_nearby(class_of(size)))
            return found;
    const hold mine;
    return mine ? take(class_of(size)) : nullptr;
}

void *allocate(std::size_t size) noexcept {
    if (void *const found = take_kept(size))
        return found;
    if (void *const memory = obtain(octets_for(size)))
        return memory;
    give_up_kept();
    return obtain(octets_for(size));
}

void *grow(void *memory, std::size_t old_size, std::size_t new_size, std::size_t used) noexcept {
    void *larger = allocate(new_size);
    if (!larger)
        return nullptr;
    const std::size_t old_octets = octets_for(old_size);
    const std::size_t new_octets = octets_for(new_size);
    // Memory that is touched already moves with its pages, which leaves nothing of the old block.
    if (is_mapped(old_octets) && is_mapped(new_octets)) {
        const std::size_t size = whole_pages(old_octets);
        const outcome result = move_pages(memory, larger, size);
        if (result == outcome::moved)
            return larger;
        if (result != outcome::stayed) {
            ::munmap(static_cast<std::byte *>(larger) + size, whole_pages(new_octets) - size);
            larger = result == outcome::place_lost ? allocate(new_size) : nullptr;
            if (!larger)
                return nullptr;
        }
    }
    std::memcpy(larger, memory, used);
    release(memory, old_size);
    return larger;
}

unsigned this_processor() noexcept { return static_cast<unsigned>(::sched_getcpu()); }

void release(void *memory, std::size_t size, unsigned processor) noexcept {
    if (!is_kept_size(size)) {
        dispose(memory, size);
        return;
    }
    const std::size_t index = class_of(size);
    auto *const block = new (memory) kept_block{nullptr, size_of(index)};
    if (block->octets <= largest_nearby)
        keep_nearby(slot_of(processor), block);
    else
        keep_far(block);
}

void give_up_kept() noexcept {
    for (slot &each : nearby)
        free_all(each.put(nullptr));
    kept_block *gone = nullptr;
    if (const hold mine; mine)
        gone = give_up(0, classes);
    free_all(gone);
}

std::size_t kept_octets() noexcept {
    std::size_t octets = kept.load(std::memory_order_relaxed);
    for (const slot &each : nearby)
        octets += each.octets.load(std::memory_order_relaxed);
    return octets;
}

}  // namespace zlink::large_blocks
