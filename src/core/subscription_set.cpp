#include "core/subscription_set.hpp"

namespace zlink {

bool subscription_set::topics::add(byte_span topic) {
    if (tree_.insert(topic).count++ > 0)
        return false;
    ++size_;
    return true;
}

bool subscription_set::topics::remove(byte_span topic) noexcept {
    counter *known = tree_.find(topic);
    if (!known || known->is_empty() || --known->count > 0)
        return false;
    tree_.prune(topic);
    --size_;
    return true;
}

}  // namespace zlink
