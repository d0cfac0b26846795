// Chunks: the memory that frames live in on their way, and the pool they come from and go back to.
//
// Idle:     a pool keeps up to 4 MiB of each size, until memory is short anywhere in the process,
//           or the pool ends. What is more than 512 KiB of a size ages: an I/O thread that goes to
//           sleep looks at it, once in a second, and each look gives back half of what was not used
//           since. Nobody is woken for it.
// Threads:  a pool is shared by all threads of a context. A chunk's octets belong to whoever fills
//           it until published.
// Fork:     a child goes on with the pools, and the chunks, that it inherits: messages of its
//           parent's live in them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "memory/block.hpp"
#include "memory/times.hpp"

namespace zlink {

class chunk_pool;

struct chunk : block {
    chunk(void (*how)(block *) noexcept, std::size_t size, std::uint32_t size_class_index) noexcept
        : block(how), capacity(size), size_class(size_class_index) {}
    std::size_t capacity;
    std::uint32_t size_class;
    chunk *next_free = nullptr;
    std::shared_ptr<chunk_pool> home;  // kept while in use: a message may outlive its context

    std::uint8_t *data() noexcept { return reinterpret_cast<std::uint8_t *>(this + 1); }
};

class chunk_pool : public std::enable_shared_from_this<chunk_pool> {
public:
    /// The largest body whose chunk is kept to be used again.
    static constexpr std::size_t largest_kept = 256 * 1024;

    static std::shared_ptr<chunk_pool> make() { return std::make_shared<chunk_pool>(); }
    chunk_pool() noexcept;
    ~chunk_pool();
    chunk_pool(const chunk_pool &) = delete;
    chunk_pool &operator=(const chunk_pool &) = delete;

    /// A chunk of at least `size` octets with one reference; null when memory is short.
    chunk *allocate(std::size_t size) noexcept;
    /// Gives up what no pool, and none of the lists of larger blocks, has in use: for whoever is
    /// short of memory.
    static void give_up_idle() noexcept;
    /// Octets that this pool keeps to be used again.
    std::size_t idle_octets() noexcept;
    /// Octets of its chunks that somebody has, but for those of larger bodies than are kept.
    std::size_t used_octets() noexcept;

    /// Whether some pool has much that is idle: age_idle() is to be called now and then.
    static bool has_ageing() noexcept { return has_ageing_.load(std::memory_order_relaxed); }
    /// One look at all pools, if the last one is long ago. Any thread.
    static void age_idle(time_point now) noexcept;

    /// Does allocate() where the memory is held already, and idle; null where the system would have
    /// to be asked for it.
    chunk *allocate_held(std::size_t size) noexcept;
    /// A chunk of at least `size` octets with the first `used` ones of `small`, which nobody else
    /// refers to, and which is released; null, and nothing done, when memory is short. Memory of
    /// some MiB moves without a copy.
    chunk *grow(chunk *small, std::size_t size, std::size_t used) noexcept;
    /// Whether a chunk is of a size that is kept to be used again.
    static bool keeps(const chunk &c) noexcept { return c.capacity <= class_capacity(class_count - 1); }

private:
    static void dispose(block *self) noexcept;
    void give_back(chunk *c) noexcept;
    chunk *take_idle(chunk *gone) noexcept;
    bool age(chunk *&gone) noexcept;
    chunk *take_unused(std::size_t index, std::size_t count, chunk *gone) noexcept;
    chunk *adopt(void *memory, std::size_t capacity) noexcept;

    static constexpr std::size_t class_count = 13;  // 64 octets to 256 KiB, doubling
    static constexpr std::size_t class_size(std::size_t index) noexcept { return std::size_t{64} << index; }
    /// A body of exactly the class size still fits with its header.
    static constexpr std::size_t class_capacity(std::size_t index) noexcept { return class_size(index) + 64; }
    static_assert(largest_kept == std::size_t{64} << (class_count - 1));

    static constexpr std::chrono::seconds between_looks{1};
    static inline constinit std::atomic<bool> has_ageing_{false};
    static inline constinit std::atomic<duration::rep> next_look_{0};

    struct free_list {
        chunk *head = nullptr;
        std::size_t count = 0;
        std::size_t least = 0;  // since its age was last looked at
    };
    chunk_pool *next_pool_;  // in the list of all pools
    std::mutex &mutex_;      // guards the rest
    std::array<free_list, class_count> free_;
    std::atomic<std::size_t> octets_{0};  // of all chunks of those classes, idle or not
};

}  // namespace zlink
