// What a SUB or XSUB socket subscribes to: shared by the socket, which changes it, and its sessions, which replay it.
//
// Subscriptions are state, not traffic: a new connection gets all of them whatever the high-water mark.
// Threads:  any; one lock inside.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "core/bytes.hpp"

namespace zlink {

class subscription_set {
  public:
    /// Counts one more subscription; true when the topic is new.
    bool add(byte_span topic);
    /// Counts one less; true when the last one went. A topic that is not there is ignored (false).
    bool remove(byte_span topic, bool &was_present);
    /// Calls `visit` for each distinct topic, under the lock.
    void for_each(const std::function<void(byte_span topic)> &visit) const;
    std::size_t size() const noexcept;

    using topics = std::map<std::string, unsigned, std::less<>>;
    /// Runs `f(const topics &)` under the lock.
    template <typename F> void with_lock(F &&f) const
    {
        std::lock_guard guard(mutex_);
        f(topics_);
    }

  private:
    mutable std::mutex mutex_;
    topics topics_;
};

} // namespace zlink
