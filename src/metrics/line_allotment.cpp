// Lines are given and taken back; see line_allotment.hpp.
#include "metrics/line_allotment.hpp"

#include <algorithm>
#include <utility>

namespace zlink::metrics {

/// Under the lock.
line_allotment::member &line_allotment::member_of(std::uint64_t context) {
    const auto [found, is_new] = contexts_.try_emplace(context);
    if (is_new && contexts_left_ > 0) {
        --contexts_left_;
        found->second.has_lines = true;
    }
    return found->second;
}

bool line_allotment::admits(std::uint64_t context) {
    std::lock_guard guard(mutex_);
    return member_of(context).has_lines;
}

bool line_allotment::is_summed(std::uint64_t context) const {
    std::lock_guard guard(mutex_);
    const auto found = contexts_.find(context);
    return found != contexts_.end() && !found->second.has_lines;
}

std::vector<bool> line_allotment::settle(std::uint64_t context, const std::vector<std::uint64_t> &sockets) {
    std::lock_guard guard(mutex_);
    member &its = member_of(context);
    for (auto each = its.sockets.begin(); each != its.sockets.end();) {
        if (std::binary_search(sockets.begin(), sockets.end(), each->first)) {
            ++each;
            continue;
        }
        sockets_left_ += each->second ? 1 : 0;
        each = its.sockets.erase(each);
    }
    std::vector<bool> answers;
    answers.reserve(sockets.size());
    for (const std::uint64_t number : sockets) {
        const auto [found, is_new] = its.sockets.try_emplace(number, false);
        if (is_new && its.has_lines && sockets_left_ > 0) {
            --sockets_left_;
            found->second = true;
        }
        answers.push_back(found->second);
    }
    return answers;
}

bool line_allotment::take_back(std::size_t count) noexcept {
    std::lock_guard guard(mutex_);
    bool has_taken = false;
    for (; count > 0; --count) {
        std::pair<std::uint64_t, bool *> youngest{0, nullptr};
        for (auto &[number, its] : contexts_) {
            const auto last = std::find_if(its.sockets.rbegin(), its.sockets.rend(),
                                           [](const auto &each) { return each.second; });
            if (last != its.sockets.rend() && last->first >= youngest.first)
                youngest = {last->first, &last->second};
        }
        if (!youngest.second)
            break;
        *youngest.second = false;
        ++sockets_left_;
        has_taken = true;
    }
    return has_taken;
}

void line_allotment::forget(std::uint64_t context) noexcept {
    std::lock_guard guard(mutex_);
    const auto found = contexts_.find(context);
    if (found == contexts_.end())
        return;
    contexts_left_ += found->second.has_lines ? 1 : 0;
    for (const auto &each : found->second.sockets)
        sockets_left_ += each.second ? 1 : 0;
    contexts_.erase(found);
}

}  // namespace zlink::metrics
