// The list of those who wait for a descriptor; see descriptor_watch.hpp. Map: the list; a child of
// fork(), which begins with an empty one; waiting; telling.
#include "core/descriptor_watch.hpp"

#include <mutex>

#include "core/platform.hpp"

namespace zlink {

namespace {

std::mutex watches_mutex;  // guards what follows
descriptor_watch *first = nullptr;
unsigned generation = 0;

[[maybe_unused]] const bool watches_survive_fork =
    platform::around_fork([] { watches_mutex.lock(); }, [] { watches_mutex.unlock(); });

}  // namespace

/// In a child: those of its parent's are of no use here, and stay as they are.
void descriptor_watch::look_at_generation() noexcept {
    if (generation == platform::fork_generation())
        return;
    generation = platform::fork_generation();
    first = nullptr;
    waiting_.store(0, std::memory_order_relaxed);
}

bool descriptor_watch::begin() noexcept {
    const std::lock_guard lock(watches_mutex);
    look_at_generation();
    if (is_waiting_ && generation_ == generation)
        return false;
    is_waiting_ = true;
    generation_ = generation;
    before_ = nullptr;
    after_ = first;
    if (first)
        first->before_ = this;
    first = this;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return true;
}

void descriptor_watch::end() noexcept {
    const std::lock_guard lock(watches_mutex);
    look_at_generation();
    if (!is_waiting_ || generation_ != generation)
        return;
    is_waiting_ = false;
    (before_ ? before_->after_ : first) = after_;
    if (after_)
        after_->before_ = before_;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void descriptor_watch::tell_all() noexcept {
    const std::lock_guard lock(watches_mutex);
    look_at_generation();
    for (descriptor_watch *each = first; each; each = each->after_) {
        each->is_waiting_ = false;
        each->on_closed();
    }
    first = nullptr;
    waiting_.store(0, std::memory_order_relaxed);
}

}  // namespace zlink
