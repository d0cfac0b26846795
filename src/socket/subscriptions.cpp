#include "socket/subscriptions.hpp"

#include <algorithm>

namespace zlink {

namespace {

/// In the order in which a socket took its pipes; addresses decide where no socket has.
bool comes_before(const pipe_end *a, const pipe_end *b) noexcept {
    return a->slot.attach_number != b->slot.attach_number ? a->slot.attach_number < b->slot.attach_number
                                                          : a < b;
}

}  // namespace

// ---- pipe_set ----

bool pipe_set::add(pipe_end &pipe) {
    pipe_end *const *at = std::lower_bound(begin(), end(), &pipe, comes_before);
    if (at != end() && *at == &pipe)
        return false;
    const auto place = static_cast<std::size_t>(at - begin());
    if (count_ == 0 && capacity_ == 0) {
        one_ = &pipe;
        count_ = 1;
        return true;
    }
    if (count_ >= capacity_) {
        const std::uint32_t wider = std::max<std::uint32_t>(4, capacity_ * 2);
        pipe_end **fresh = new pipe_end *[wider];
        std::copy(begin(), end(), fresh);
        if (capacity_ > 0)
            delete[] many_;
        many_ = fresh;
        capacity_ = wider;
    }
    std::copy_backward(many_ + place, many_ + count_, many_ + count_ + 1);
    many_[place] = &pipe;
    ++count_;
    return true;
}

bool pipe_set::remove(pipe_end &pipe) noexcept {
    pipe_end *const *at = std::lower_bound(begin(), end(), &pipe, comes_before);
    if (at == end() || *at != &pipe)
        return false;
    --count_;
    if (capacity_ == 0)
        return true;
    const auto place = static_cast<std::size_t>(at - begin());
    std::copy(many_ + place + 1, many_ + count_ + 1, many_ + place);
    if (count_ <= 1) {
        pipe_end *last = many_[0];
        delete[] many_;
        one_ = last;
        capacity_ = 0;
    }
    return true;
}

// ---- subscriptions ----

subscriptions::addition subscriptions::add(byte_span topic, pipe_end &pipe) {
    std::size_t &count = counts_[&pipe];
    pipe_set &pipes = tree_.insert(topic);
    const bool is_new = pipes.is_empty();
    if (!pipes.add(pipe))
        return addition::repeated;
    ++count;
    topics_ += is_new;
    return is_new ? addition::first : addition::another;
}

subscriptions::removal subscriptions::remove(byte_span topic, pipe_end &pipe) noexcept {
    pipe_set *pipes = tree_.find(topic);
    if (!pipes || !pipes->remove(pipe))
        return removal::unknown;
    if (const auto known = counts_.find(&pipe); --known->second == 0)
        counts_.erase(known);
    if (!pipes->is_empty())
        return removal::others_remain;
    --topics_;
    tree_.prune(topic);
    return removal::last;
}

}  // namespace zlink
