// Lists of blocks by size; see large_blocks.hpp.
#include "core/large_blocks.hpp"

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
constexpr std::size_t most_kept = 8u << 20;  // octets
constexpr std::size_t steps = 4;             // from one power of two to the next
constexpr std::size_t classes = steps * std::bit_width(largest / smallest - 1) + 1;

struct kept_block {
    kept_block *next;
};

/// The class of the smallest blocks that hold `size` octets.
constexpr std::size_t class_of(std::size_t size) noexcept {
    const std::size_t octave = std::bit_width((size - 1) / smallest);
    if (octave == 0)
        return 0;
    const std::size_t begin = smallest << (octave - 1);
    const std::size_t step = begin / steps;
    return (octave - 1) * steps + (size - begin + step - 1) / step;
}

constexpr std::size_t size_of(std::size_t index) noexcept {
    const std::size_t begin = smallest << index / steps;
    return begin + index % steps * (begin / steps);
}

static_assert(class_of(smallest) == 0 && class_of(largest) == classes - 1 && size_of(classes - 1) == largest);
static_assert(class_of(smallest + 1) == 1 && size_of(1) == smallest + smallest / steps);
static_assert(class_of(2 * smallest) == steps && class_of(2 * smallest + 1) == steps + 1);

constexpr bool is_kept_size(std::size_t size) noexcept {
#ifdef __SANITIZE_ADDRESS__
    (void)size;  // the sanitizer watches the heap's blocks better
    return false;
#else
    return size >= smallest && size <= largest;
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
std::array<kept_block *, classes> lists;
std::size_t kept = 0;  // octets

void *take(std::size_t index) noexcept {
    kept_block *const found = lists[index];
    if (found) {
        lists[index] = found->next;
        kept -= size_of(index);
    }
    return found;
}

/// Makes room for a block of that class by giving up others. Returns them, linked.
kept_block *give_up_for(std::size_t index) noexcept {
    kept_block *gone = nullptr;
    for (std::size_t other = classes; other-- > 0 && kept + size_of(index) > most_kept;) {
        while (other != index && lists[other] && kept + size_of(index) > most_kept)
            gone = new (take(other)) kept_block{gone};
    }
    return gone;
}

}  // namespace

void *allocate(std::size_t size) noexcept {
    if (!is_kept_size(size))
        return std::malloc(size);
    const std::size_t index = class_of(size);
    if (const turn mine; mine) {
        if (void *found = take(index))
            return found;
    }
    return std::malloc(size_of(index));
}

void release(void *memory, std::size_t size) noexcept {
    kept_block *gone = nullptr;
    if (is_kept_size(size)) {
        const std::size_t index = class_of(size);
        if (const turn mine; mine) {
            gone = give_up_for(index);
            if (kept + size_of(index) <= most_kept) {
                lists[index] = new (std::exchange(memory, nullptr)) kept_block{lists[index]};
                kept += size_of(index);
            }
        }
    }
    // The heap may have its own locks: not with the turn.
    std::free(memory);
    while (gone)
        std::free(std::exchange(gone, gone->next));
}

}  // namespace zlink::large_blocks
