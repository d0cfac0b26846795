// The list of those who have gone, short enough to be searched from its begin; see departures.hpp.
#include "core/departures.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace zlink {

namespace {
bool is_same(const departure &a, const departure &b) noexcept {
    return a.why == b.why && a.is_connecting == b.is_connecting && a.host == b.host &&
           a.routing_id == b.routing_id && a.user_id == b.user_id && a.endpoint == b.endpoint;
}
}  // namespace

void departures::note(departure what) noexcept {
    std::lock_guard guard(mutex_);
    auto at =
        std::find_if(known_.begin(), known_.end(), [&](const auto &each) { return is_same(each, what); });
    if (at != known_.end()) {
        what.times = at->times + 1;
    } else if (known_.size() < most_departures) {
        try {
            known_.emplace_back();
        } catch (const std::bad_alloc &) {
            return;
        }
        at = known_.end() - 1;
    } else if (what.why == counter::disconnects_unbind) {
        return;  // by the application itself: that drives nobody out
    } else {
        // Ever new names, which a peer can make up, do not drive out who comes and goes.
        at = std::min_element(known_.begin(), known_.end(), [](const auto &a, const auto &b) {
            return std::pair(a.times, a.last) < std::pair(b.times, b.last);
        });
    }
    *at = std::move(what);
}

std::vector<departure> departures::all() const {
    std::lock_guard guard(mutex_);
    return known_;
}

}  // namespace zlink
