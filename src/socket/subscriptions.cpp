#include "socket/subscriptions.hpp"

namespace zlink {

subscriptions::addition subscriptions::add(byte_span topic, pipe_end &pipe) {
    const std::uint32_t number = number_of(pipe);
    receivers &those = tree_.insert(topic);
    const bool is_new = those.is_empty();
    if (!add(those, number))
        return addition::repeated;
    ++pipes_[number].topics;
    topics_ += is_new;
    return is_new ? addition::first : addition::another;
}

subscriptions::removal subscriptions::remove(byte_span topic, pipe_end &pipe) noexcept {
    const auto known = numbers_.find(&pipe);
    receivers *those = known == numbers_.end() ? nullptr : tree_.find(topic);
    if (!those || !remove(*those, known->second))
        return removal::unknown;
    if (--pipes_[known->second].topics == 0) {
        pipes_.remove(known->second);
        numbers_.erase(known);
    }
    if (!those->is_empty())
        return removal::others_remain;
    --topics_;
    tree_.prune(topic);
    return removal::last;
}

std::uint32_t subscriptions::number_of(pipe_end &pipe) {
    const auto known = numbers_.find(&pipe);
    if (known != numbers_.end())
        return known->second;
    const std::uint32_t number = pipes_.add({&pipe});
    try {
        numbers_.emplace(&pipe, number);
    } catch (...) {
        pipes_.remove(number);
        throw;
    }
    return number;
}

/// False when it was there. A topic that has nobody yet takes no memory for its first.
bool subscriptions::add(receivers &those, std::uint32_t pipe) {
    if (those.is_empty()) {
        those = receivers::one(pipe);
        return true;
    }
    if (those.is_one()) {
        const std::uint32_t other = those.number();
        if (other == pipe)
            return false;
        those = receivers::several(sets_.add({std::min(other, pipe), std::max(other, pipe)}));
        return true;
    }
    pipe_set &set = sets_[those.number()];
    const auto at = std::lower_bound(set.begin(), set.end(), pipe);
    if (at != set.end() && *at == pipe)
        return false;
    set.insert(at, pipe);
    return true;
}

/// False when it was not there.
bool subscriptions::remove(receivers &those, std::uint32_t pipe) noexcept {
    if (those.is_empty())
        return false;
    if (those.is_one()) {
        if (those.number() != pipe)
            return false;
        those = receivers();
        return true;
    }
    pipe_set &set = sets_[those.number()];
    const auto at = std::lower_bound(set.begin(), set.end(), pipe);
    if (at == set.end() || *at != pipe)
        return false;
    set.erase(at);
    shrink(those);
    return true;
}

/// A set that became small enough to do without.
void subscriptions::shrink(receivers &those) noexcept {
    const std::uint32_t number = those.number();
    const pipe_set &set = sets_[number];
    if (set.size() > 1)
        return;
    those = set.empty() ? receivers() : receivers::one(set[0]);
    sets_.remove(number);
}

/// Keeps a pipe from being matched; its number goes with its last topic.
std::uint32_t subscriptions::leave(pipe_end &pipe) noexcept {
    const auto known = numbers_.find(&pipe);
    if (known == numbers_.end())
        return no_pipe;
    const std::uint32_t number = known->second;
    numbers_.erase(known);
    if (pipes_[number].topics == 0) {  // memory ran out when it subscribed
        pipes_.remove(number);
        return no_pipe;
    }
    pipes_[number].pipe = nullptr;
    left_behind_ += pipes_[number].topics;
    return number;
}

/// Removes all pipes that are gone from a topic; whether the one with this number was among them.
bool subscriptions::remove_gone(receivers &those, std::uint32_t number) noexcept {
    bool was_there = false;
    const auto is_gone = [&](std::uint32_t pipe) {
        if (pipes_[pipe].pipe)
            return false;
        was_there = was_there || pipe == number;
        --left_behind_;
        if (--pipes_[pipe].topics == 0)
            pipes_.remove(pipe);
        return true;
    };
    if (!those.is_one()) {
        std::erase_if(sets_[those.number()], is_gone);
        shrink(those);
    } else if (is_gone(those.number())) {
        those = receivers();
    }
    return was_there;
}

}  // namespace zlink
