// The meaning of the void pointers of the C interface: the one slab of handles, and the check of a
// pointer.
//
// Layout:   a range of addresses reserved once and made accessible from its front as handles are
//           needed. It is never given back to the system, so that a pointer which was closed, or
//           was never ours, is recognised without touching memory that is gone: it must lie in the
//           range, at the start of a slot, and the slot must hold that kind.
// Probes:   bindings look behind a pointer before they know what it is: they take the first int for
//           a descriptor and ask the system about it, and compare words further on with tags of
//           their own. So a slot begins with a number that no descriptor has, and what follows the
//           last slot in use can be read.
// Reuse:    first in, first out, and only when a thousand slots are free: a pointer just closed
//           names nothing for long.
// Fork:     a child's copies of contexts and sockets become `inherited`: nothing but closing them
//           works, and that leaves the parent's descriptors and threads alone; their memory is
//           lost. Pollers remain as they are.
// Threads:  any. A socket must not be used while another thread closes it; contexts and their
//           lookups may race.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "context/context.hpp"
#include "socket/socket.hpp"

namespace zlink::capi {

/// Negative: the open descriptor of nothing.
enum class handle_kind : std::int32_t {
    none = -0x1000,
    context,
    socket,
    poller,
    inherited_context,
    inherited_socket
};

class handle_slab {
public:
    /// The size of a slot, and how many fresh ones are made accessible at a time.
    static constexpr std::size_t slot_size = 64;
    static constexpr std::size_t step = 1024;
    /// The fewest free slots at which one is used again.
    static constexpr std::size_t quarantine = 1024;

    constexpr handle_slab() noexcept = default;
    handle_slab(const handle_slab &) = delete;
    handle_slab &operator=(const handle_slab &) = delete;

    /// A handle for an object. `owner` is kept for as long as the handle. Null when there is no
    /// room.
    void *add(handle_kind kind, void *object, std::shared_ptr<context> owner = {}) noexcept;

    /// The object behind a pointer, whatever the pointer is; null when it is no open handle of this
    /// kind.
    void *find(void *handle, handle_kind kind) const noexcept {
        const auto address = reinterpret_cast<std::uintptr_t>(handle);
        const std::uintptr_t offset = address - begin_.load(std::memory_order_relaxed);
        if (offset >= accessible_.load(std::memory_order_relaxed) || offset % slot_size != 0)
            return nullptr;
        const auto *found = static_cast<const slot *>(handle);
        return found->kind.load(std::memory_order_acquire) == kind ? found->object : nullptr;
    }
    /// The context kept with a handle, null when it is no open handle of this kind.
    std::shared_ptr<context> owner_of(void *handle, handle_kind kind) noexcept;

    struct taken {
        void *object = nullptr;
        std::shared_ptr<context> owner;
    };
    /// Ends a handle and gives what it stood for. A null object when it is no open handle of this
    /// kind.
    taken take(void *handle, handle_kind kind) noexcept;
    /// Ends a handle that came through a fork. False when it is none of this (inherited) kind.
    bool forget(void *handle, handle_kind kind) noexcept;

    /// A first step of a child of fork; called by the system.
    static void after_fork_in_child() noexcept;

private:
    struct alignas(slot_size) slot {
        std::atomic<handle_kind> kind{handle_kind::none};
        void *object = nullptr;
        std::shared_ptr<context> owner;
        slot *next_free = nullptr;
    };
    static_assert(sizeof(slot) == slot_size);

    bool reserve() noexcept;
    bool grow() noexcept;
    slot *free_slot() noexcept;
    slot *locate(void *handle, handle_kind kind) noexcept;
    void set_free(slot &s) noexcept;

    // Written under the lock, read without it.
    std::atomic<std::uintptr_t> begin_{0};
    std::atomic<std::size_t> accessible_{0};  // octets from begin_ that can be read

    // Guarded by platform::locks.handles
    std::size_t reserved_ = 0;  // octets
    std::size_t used_ = 0;      // slots that have ever been used
    slot *oldest_free_ = nullptr;
    slot *newest_free_ = nullptr;
    std::size_t free_count_ = 0;
};

/// Lives for ever.
extern handle_slab handles __attribute__((visibility("hidden")));

/// The socket behind a pointer, or null.
inline socket *socket_of(void *handle) noexcept {
    return static_cast<socket *>(handles.find(handle, handle_kind::socket));
}
/// The context behind a pointer, or null; kept alive for as long as the caller needs it.
inline std::shared_ptr<context> context_of(void *handle) noexcept {
    return handles.owner_of(handle, handle_kind::context);
}

}  // namespace zlink::capi
