// Lists of blocks by size; see large_blocks.hpp.
#include "core/large_blocks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace zlink::large_blocks {

namespace {

constexpr std::size_t smallest = 64u << 10;
constexpr std::size_t largest = 4u << 20;
constexpr std::size_t most_kept = (8u << 20) + smallest;  // octets: two of the largest fit
constexpr std::size_t steps = 4;                          // from one power of two to the next
constexpr std::size_t classes = steps * std::bit_width(largest / smallest - 1) + 1;
/// What goes before a body: one of exactly a class's size still fits.
constexpr std::size_t extra = 64;

struct kept_block {
    kept_block *next;
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

constexpr bool is_kept_size(std::size_t size) noexcept {
#ifdef __SANITIZE_ADDRESS__
    (void)size;  // the sanitizer watches the heap's blocks better
    return false;
#else
    return size >= smallest && size <= largest + extra;
#endif
}

/// Whoever does not get it does without: so it may stay taken in a child of fork().
class turn {
public:
    turn() noexcept : is_mine_(!taken_.test_and_set(std::memory_order_acquire)) {}
    ~turn() {
        if (is_mine_)
            taken_.clear(std::memory_order_release);
    }
    turn(const turn &) = delete;
    turn &operator=(const turn &) = delete;
    explicit operator bool() const noexcept { return is_mine_; }

private:
    inline static std::atomic_flag taken_;
    const bool is_mine_;
};

// With the turn:
struct block_list {
    kept_block *first = nullptr;
    std::size_t octets = 0;
};
std::array<block_list, classes> lists;
std::size_t kept = 0;  // octets in all lists

void *take(std::size_t index) noexcept {
    block_list &list = lists[index];
    kept_block *const found = list.first;
    if (found) {
        list.first = found->next;
        list.octets -= size_of(index);
        kept -= size_of(index);
    }
    return found;
}

void keep(void *memory, std::size_t index) noexcept {
    block_list &list = lists[index];
    list.first = new (memory) kept_block{list.first};
    list.octets += size_of(index);
    kept += size_of(index);
}

/// Gives up blocks of all classes but one until `most` octets are left. Returns them, linked.
kept_block *give_up(std::size_t most, std::size_t but_of) noexcept {
    kept_block *gone = nullptr;
    for (std::size_t index = classes; index-- > 0;) {
        while (kept > most && index != but_of && lists[index].first)
            gone = new (take(index)) kept_block{gone};
    }
    return gone;
}

/// Without the turn: the heap may have locks of its own.
void free_all(kept_block *gone) noexcept {
    while (gone)
        std::free(std::exchange(gone, gone->next));
}

}  // namespace

void *allocate(std::size_t size) noexcept {
    const bool may_be_kept = is_kept_size(size);
    if (may_be_kept) {
        if (const turn mine; mine) {
            if (void *found = take(class_of(size)))
                return found;
        }
    }
    const std::size_t octets = may_be_kept ? size_of(class_of(size)) : size;
    if (void *memory = std::malloc(octets))
        return memory;
    give_up_kept();
    return std::malloc(octets);
}

void release(void *memory, std::size_t size) noexcept {
    kept_block *gone = nullptr;
    if (is_kept_size(size)) {
        const std::size_t index = class_of(size);
        const turn mine;
        if (mine && lists[index].octets + size_of(index) <= most_kept) {
            gone = give_up(most_kept - size_of(index), index);
            keep(std::exchange(memory, nullptr), index);
        }
    }
    std::free(memory);
    free_all(gone);
}

void give_up_kept() noexcept {
    kept_block *gone = nullptr;
    if (const turn mine; mine)
        gone = give_up(0, classes);
    free_all(gone);
}

std::size_t kept_octets() noexcept {
    const turn mine;
    return mine ? kept : 0;
}

}  // namespace zlink::large_blocks
