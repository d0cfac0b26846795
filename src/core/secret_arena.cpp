// Blocks of memory that is locked and not dumped, cut into slots of one size; see secret_arena.hpp.
#include "core/secret_arena.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>

#include "memory/process.hpp"

namespace zlink {

namespace {

constexpr std::size_t block_size = 64 * 1024;

struct free_slot {
    free_slot *next;
};
static_assert(sizeof(free_slot) <= arena_key::size);

constinit free_slot *first_free = nullptr;  // guarded by locks.keys

/// Blocks are kept for ever: there are as many as connections needed at once.
void add_block() {
    void *const block =
        ::mmap(nullptr, block_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        throw std::bad_alloc();
    // Neither is granted everywhere, and the keys are of use all the same.
    (void)::madvise(block, block_size, MADV_DONTDUMP);
    (void)::mlock(block, block_size);
    auto *const octets = static_cast<std::uint8_t *>(block);
    for (std::size_t at = block_size; at > 0; at -= arena_key::size)
        first_free = new (octets + at - arena_key::size) free_slot{first_free};
}

}  // namespace

arena_key::arena_key() {
    const std::lock_guard lock(platform::locks.keys);
    if (!first_free)
        add_block();
    free_slot *const taken = first_free;
    first_free = taken->next;
    octets_ = reinterpret_cast<std::uint8_t *>(taken);
    std::memset(octets_, 0, size);
}

arena_key::~arena_key() {
    ::explicit_bzero(octets_, size);
    const std::lock_guard lock(platform::locks.keys);
    first_free = new (octets_) free_slot{first_free};
}

}  // namespace zlink
