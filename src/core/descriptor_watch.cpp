// The list of those who wait for a descriptor; see descriptor_watch.hpp. Map: the list; a child of
// fork(), which begins with an empty one; waiting; telling.
#include "core/descriptor_watch.hpp"

#include <mutex>

#include "memory/process.hpp"

namespace zlink {

namespace {

/// Guarded by locks.watches.
struct watches_of_process {
    descriptor_watch *first = nullptr;
    unsigned generation = 0;
};
constinit watches_of_process watches;

}  // namespace

/// In a child: those of its parent's are of no use here, and stay as they are.
void descriptor_watch::look_at_generation() noexcept {
    if (watches.generation == platform::fork_generation())
        return;
    watches.generation = platform::fork_generation();
    watches.first = nullptr;
    waiting_.store(0, std::memory_order_relaxed);
}

bool descriptor_watch::begin() noexcept {
    const std::lock_guard lock(platform::locks.watches);
    look_at_generation();
    if (is_waiting_ && generation_ == watches.generation)
        return false;
    is_waiting_ = true;
    generation_ = watches.generation;
    before_ = nullptr;
    after_ = watches.first;
    if (watches.first)
        watches.first->before_ = this;
    watches.first = this;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void descriptor_watch::end() noexcept {
    const std::lock_guard lock(platform::locks.watches);
    look_at_generation();
    if (!is_waiting_ || generation_ != watches.generation)
        return;
    is_waiting_ = false;
    (before_ ? before_->after_ : watches.first) = after_;
    if (after_)
        after_->before_ = before_;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void descriptor_watch::tell_all() noexcept {
    const std::lock_guard lock(platform::locks.watches);
    look_at_generation();
    for (descriptor_watch *each = watches.first; each; each = each->after_) {
        each->is_waiting_ = false;
        each->on_closed();
    }
    watches.first = nullptr;
    waiting_.store(0, std::memory_order_relaxed);
}

}  // namespace zlink
