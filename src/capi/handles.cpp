// The one slab of handles; see handles.hpp.
#include "capi/handles.hpp"

#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

#include "memory/process.hpp"

namespace zlink::capi {

namespace {
// Addresses only: a million slots.
constexpr std::size_t most_octets_reserved = std::size_t{1} << 26;

[[maybe_unused]] const bool survives_fork =
    platform::in_child_of_fork([] { handle_slab::after_fork_in_child(); });
}  // namespace

constinit handle_slab handles;

// ---- Memory -------------------------------------------------------------------------------------

/// Reserves the range; less of it where the system is short of addresses.
bool handle_slab::reserve() noexcept {
    for (std::size_t size = most_octets_reserved; size >= step * slot_size; size /= 2) {
        void *range = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range == MAP_FAILED)
            continue;
        begin_.store(reinterpret_cast<std::uintptr_t>(range), std::memory_order_relaxed);
        reserved_ = size;
        return true;
    }
    return false;
}

bool handle_slab::grow() noexcept {
    if (reserved_ == 0 && !reserve())
        return false;
    const std::size_t size = accessible_.load(std::memory_order_relaxed);
    if (size == reserved_)
        return false;
    auto *front = reinterpret_cast<slot *>(begin_.load(std::memory_order_relaxed) + size);
    if (::mprotect(front, step * slot_size, PROT_READ | PROT_WRITE) != 0)
        return false;
    for (std::size_t i = 0; i < step; ++i)
        new (front + i) slot;
    accessible_.store(size + step * slot_size, std::memory_order_release);
    return true;
}

/// A slot that is free for good; null when there is none. The last one stays unused, for those who
/// read on behind a handle.
handle_slab::slot *handle_slab::free_slot() noexcept {
    const auto all = [this] { return accessible_.load(std::memory_order_relaxed) / slot_size; };
    if (free_count_ < quarantine && (used_ + 1 < all() || grow()))
        return reinterpret_cast<slot *>(begin_.load(std::memory_order_relaxed)) + used_++;
    if (!oldest_free_)
        return nullptr;
    slot *found = std::exchange(oldest_free_, oldest_free_->next_free);
    if (!oldest_free_)
        newest_free_ = nullptr;
    --free_count_;
    return found;
}

void handle_slab::set_free(slot &s) noexcept {
    s.object = nullptr;
    s.next_free = nullptr;
    s.kind.store(handle_kind::none, std::memory_order_release);
    (newest_free_ ? newest_free_->next_free : oldest_free_) = &s;
    newest_free_ = &s;
    ++free_count_;
}

// ---- Handles ------------------------------------------------------------------------------------

void *handle_slab::add(handle_kind kind, void *object, std::shared_ptr<context> owner) noexcept {
    const std::lock_guard guard(platform::locks.handles);
    slot *found = free_slot();
    if (!found)
        return nullptr;
    found->object = object;
    found->owner = std::move(owner);
    found->kind.store(kind, std::memory_order_release);
    return found;
}

handle_slab::slot *handle_slab::locate(void *handle, handle_kind kind) noexcept {
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(handle) - begin_.load(std::memory_order_relaxed);
    if (offset >= accessible_.load(std::memory_order_relaxed) || offset % slot_size != 0)
        return nullptr;
    auto *found = static_cast<slot *>(handle);
    return found->kind.load(std::memory_order_relaxed) == kind ? found : nullptr;
}

std::shared_ptr<context> handle_slab::owner_of(void *handle, handle_kind kind) noexcept {
    const std::lock_guard guard(platform::locks.handles);
    slot *found = locate(handle, kind);
    return found ? found->owner : nullptr;
}

handle_slab::taken handle_slab::take(void *handle, handle_kind kind) noexcept {
    const std::lock_guard guard(platform::locks.handles);
    slot *found = locate(handle, kind);
    if (!found)
        return {};
    taken result{found->object, std::move(found->owner)};
    set_free(*found);
    return result;
}

bool handle_slab::forget(void *handle, handle_kind kind) noexcept {
    const std::lock_guard guard(platform::locks.handles);
    slot *found = locate(handle, kind);
    if (!found)
        return false;
    new (&found->owner)
        std::shared_ptr<context>;  // the reference is lost on purpose: its threads are not here
    set_free(*found);
    return true;
}

// ---- Fork ---------------------------------------------------------------------------------------

/// There is one thread, and fork() has had the lock.
void handle_slab::after_fork_in_child() noexcept {
    auto *first = reinterpret_cast<slot *>(handles.begin_.load(std::memory_order_relaxed));
    for (slot *s = first; s != first + handles.used_; ++s) {
        const handle_kind kind = s->kind.load(std::memory_order_relaxed);
        if (kind == handle_kind::context)
            s->kind.store(handle_kind::inherited_context, std::memory_order_relaxed);
        else if (kind == handle_kind::socket)
            s->kind.store(handle_kind::inherited_socket, std::memory_order_relaxed);
    }
}

}  // namespace zlink::capi
