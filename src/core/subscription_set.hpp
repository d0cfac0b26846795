// The topics that a SUB or XSUB socket subscribes to: shared by the socket, which changes it, and
// its sessions, which replay it.
//
// Subscriptions are state, not traffic: a new connection gets all of them whatever the high-water
// mark. The socket changes the set and tells its pipes under one lock, so that a session that looks
// under it sees both or neither.
// Threads:  any, through with_lock(); matches() without it on the thread that changes the set;
//           size() on any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/bytes.hpp"
#include "core/prefix_tree.hpp"

namespace zlink {

class subscription_set {
public:
    /// The topics, each with the number of times it is subscribed to.
    class topics {
    public:
        /// Counts one more subscription; true when the topic is new. Throws bad_alloc.
        bool add(byte_span topic);
        /// Counts one less; true when the last one went. A topic that is not there is ignored.
        bool remove(byte_span topic) noexcept;
        /// Calls `visit(byte_span topic)` for each distinct topic.
        template <class Visit>
        void for_each(Visit &&visit) const {
            tree_.for_each([&](byte_span topic, const counter &) { visit(topic); });
        }
        std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

    private:
        friend class subscription_set;
        struct counter {
            std::uint32_t count = 0;
            bool is_empty() const noexcept { return count == 0; }
        };

        prefix_tree<counter> tree_;
        std::atomic<std::size_t> size_{0};
    };

    /// Runs `f(topics &)` under the lock.
    template <class F>
    void with_lock(F &&f) {
        std::lock_guard guard(mutex_);
        f(topics_);
    }
    template <class F>
    void with_lock(F &&f) const {
        std::lock_guard guard(mutex_);
        f(topics_);
    }
    /// Whether a message that begins with `text` is subscribed to.
    bool matches(byte_span text) const noexcept { return topics_.tree_.has_prefix_of(text); }
    /// The number of distinct topics. Any thread.
    std::size_t size() const noexcept { return topics_.size(); }

private:
    mutable std::mutex mutex_;
    topics topics_;
};

}  // namespace zlink
