// Blocks of memory that is locked and not dumped, each cut into places of one size; see
// secret_arena.hpp.
#include "core/secret_arena.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

#include "memory/process.hpp"

namespace zlink {

namespace {

constexpr std::size_t block_size = 64 * 1024;

struct free_place {
    free_place *next;
};
static_assert(sizeof(free_place) <= secret_arena::unit);

constinit free_place *first_free[secret_arena::most_units] = {};  // by size; guarded by locks.keys

/// Blocks are kept for ever: there are as many as connections needed at once. False when memory is
/// short.
bool add_block(free_place *&first, std::size_t size) noexcept {
    void *const block =
        ::mmap(nullptr, block_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return false;
    // Neither is granted everywhere, and the keys are of use all the same.
    (void)::madvise(block, block_size, MADV_DONTDUMP);
    (void)::mlock(block, block_size);
    auto *const octets = static_cast<std::uint8_t *>(block);
    for (std::size_t at = block_size; at > 0; at -= size)
        first = new (octets + at - size) free_place{first};
    return true;
}

free_place *take_place(std::size_t units) noexcept {
    const std::lock_guard lock(platform::locks.keys);
    free_place *&first = first_free[units - 1];
    if (!first && !add_block(first, units * secret_arena::unit))
        return nullptr;
    return std::exchange(first, first->next);
}

}  // namespace

std::uint8_t *secret_arena::take(std::size_t units) {
    free_place *const taken = take_place(units);
    if (!taken)
        throw std::bad_alloc();  // without the lock: an exception has memory from the heap
    std::memset(static_cast<void *>(taken), 0, sizeof *taken);  // the rest is zero
    return reinterpret_cast<std::uint8_t *>(taken);
}

void secret_arena::give_back(std::uint8_t *place, std::size_t units) noexcept {
    ::explicit_bzero(place, units * unit);
    const std::lock_guard lock(platform::locks.keys);
    free_place *&first = first_free[units - 1];
    first = new (place) free_place{first};
}

}  // namespace zlink
