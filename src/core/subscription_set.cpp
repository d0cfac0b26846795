// Topics are counted, as each may be subscribed to several times; see subscription_set.hpp.
#include "core/subscription_set.hpp"

#include <limits>

namespace zlink {

namespace {

// Such a topic stays.
constexpr std::uint32_t most_subscriptions = std::numeric_limits<std::uint32_t>::max();

}  // namespace

bool subscription_set::topics::add(byte_span topic) {
    counter &known = tree_.insert(topic);
    if (known.count < most_subscriptions)
        ++known.count;
    if (known.count > 1)
        return false;
    size_.store(size() + 1, std::memory_order_relaxed);
    return true;
}

bool subscription_set::topics::remove(byte_span topic) noexcept {
    counter *known = tree_.find(topic);
    if (!known || known->is_empty() || known->count == most_subscriptions || --known->count > 0)
        return false;
    tree_.prune(topic);
    size_.store(size() - 1, std::memory_order_relaxed);
    return true;
}

}  // namespace zlink
