// The tree of topics, and the numbers of the pipes in it; see subscriptions.hpp.
//
// Order:    a topic added and removed; the numbers of pipes, and their lists of topics; the set of
//           pipes of one topic; a pipe that goes.
#include "socket/subscriptions.hpp"

#include <algorithm>
#include <utility>

namespace zlink {

namespace {
// A list is kept of a pipe that has at most a sixteenth of all subscriptions, or few.
constexpr std::size_t listed_divisor = 16;
constexpr std::size_t few_topics = 64;
constexpr std::size_t most_pipes_outdated = 16;  // beyond as many as there are topics
}  // namespace

subscriptions::addition subscriptions::add(byte_span topic, pipe_end &pipe) {
    const std::uint32_t number = number_of(pipe);
    receivers &those = tree_.insert(topic);
    const bool is_new = those.is_empty();
    if (!add(those, number))
        return addition::repeated;
    tell(pipe, ++pipes_[number].topics);
    ++all_;
    topics_ += is_new;
    list(number, topic);
    return is_new ? addition::first : addition::another;
}

subscriptions::removal subscriptions::remove(byte_span topic, pipe_end &pipe) noexcept {
    const auto known = numbers_.find(&pipe);
    receivers *those = known == numbers_.end() ? nullptr : tree_.find(topic);
    if (!those || !remove(*those, known->second))
        return removal::unknown;
    --all_;
    const std::size_t left = --pipes_[known->second].topics;
    tell(pipe, left);
    if (left == 0) {
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
    member fresh;
    fresh.pipe = &pipe;
    const std::uint32_t number = pipes_.add(std::move(fresh));
    try {
        numbers_.emplace(&pipe, number);
    } catch (...) {
        pipes_.remove(number);
        throw;
    }
    return number;
}

/// Notes a new topic of a pipe, unless it has too many, or memory is short: then the tree is swept.
void subscriptions::list(std::uint32_t number, byte_span topic) noexcept {
    member &m = pipes_[number];
    if (!m.is_listed)
        return;
    try {
        m.is_listed = m.topics <= std::max(few_topics, all_ / listed_divisor);
        if (m.is_listed && m.own.size() >= 2 * m.topics + most_pipes_outdated)
            shorten_list(number);
        if (m.is_listed)
            m.own.add(topic);
    } catch (...) {
        m.is_listed = false;
    }
    if (!m.is_listed)
        m.own = {};
}

/// Leaves only topics that the pipe has, each once. Throws bad_alloc.
void subscriptions::shorten_list(std::uint32_t number) {
    std::vector<std::string_view> topics;
    pipes_[number].own.for_each([&](byte_span topic) { topics.push_back(as_text(topic)); });
    std::sort(topics.begin(), topics.end());
    topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
    topic_list shorter;
    for (const std::string_view topic : topics) {
        const receivers *those = tree_.find(as_bytes(topic));
        if (those && has(*those, number))
            shorter.add(as_bytes(topic));
    }
    pipes_[number].own = std::move(shorter);
}

bool subscriptions::has(const receivers &those, std::uint32_t pipe) const noexcept {
    if (those.is_empty() || those.is_one())
        return !those.is_empty() && those.number() == pipe;
    const pipe_set &set = sets_[those.number()];
    return std::binary_search(set.begin(), set.end(), pipe);
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
    tell(pipe, 0);
    if (pipes_[number].topics == 0) {  // memory ran out when it subscribed
        pipes_.remove(number);
        return no_pipe;
    }
    pipes_[number].pipe = nullptr;
    left_behind_ += pipes_[number].topics;
    all_ -= pipes_[number].topics;
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

/// Removes one that is gone from a topic without looking at the others; false when it was not
/// there.
bool subscriptions::remove_gone_one(receivers &those, std::uint32_t number) noexcept {
    if (!remove(those, number))
        return false;
    --left_behind_;
    if (--pipes_[number].topics == 0)
        pipes_.remove(number);
    return true;
}

}  // namespace zlink
