// One walk for each loop, and the one who waits for all of them; see peer_survey.hpp. Map: what the
// walks and the asker share; a walk, some sessions in each of its rounds; asking.
#include "context/peer_survey.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "core/platform.hpp"

namespace zlink {

struct peer_survey::progress {
    std::mutex mutex;  // guards the rest
    std::condition_variable news;
    std::vector<std::vector<found_peer>> found;  // by each walk
    std::size_t walks_left = 0;
    bool is_short = false;  // of memory
    bool is_over = false;   // nobody waits any more
};

/// Over the sessions of a loop, of which each step is a task on that.
class peer_survey::walk : public std::enable_shared_from_this<walk> {
public:
    walk(std::shared_ptr<progress> shared, std::size_t which) noexcept
        : shared_(std::move(shared)), which_(which) {}

    void add(std::size_t which, const std::shared_ptr<session> &what) { all_.emplace_back(which, what); }
    /// The loop then has nothing to move that was found before.
    void make_room() { shared_->found[which_].reserve(all_.size()); }
    /// Posts the next step. Ends the walk where that fails.
    void go_on(loop &on) noexcept {
        if (failed(on.post([self = shared_from_this(), &on] { self->step(on); })))
            end_short();
    }

private:
    void step(loop &on) noexcept {
        try {
            std::vector<found_peer> found;
            std::vector<peer_view> its;
            const std::size_t stops_at = std::min(at_ + most_peers_of_turn, all_.size());
            for (; at_ < stops_at; ++at_) {
                its.clear();
                all_[at_].second->describe(its);
                for (peer_view &each : its)
                    found.push_back({all_[at_].first, std::move(each)});
            }
            std::lock_guard guard(shared_->mutex);
            if (shared_->is_over)
                return;
            std::move(found.begin(), found.end(), std::back_inserter(shared_->found[which_]));
            if (at_ == all_.size()) {
                end();
                return;
            }
        } catch (const std::bad_alloc &) {
            end_short();
            return;
        }
        go_on(on);
    }
    /// Under the lock.
    void end() noexcept {
        --shared_->walks_left;
        shared_->news.notify_one();
    }
    void end_short() noexcept {
        std::lock_guard guard(shared_->mutex);
        shared_->is_short = true;
        end();
    }

    const std::shared_ptr<progress> shared_;
    const std::size_t which_;  // of the walks
    std::vector<std::pair<std::size_t, std::shared_ptr<session>>> all_;
    std::size_t at_ = 0;
};

peer_survey::peer_survey() : shared_(std::make_shared<progress>()) {}

peer_survey::~peer_survey() = default;

void peer_survey::add(std::size_t which, const std::vector<std::shared_ptr<session>> &sessions) {
    for (const std::shared_ptr<session> &each : sessions) {
        std::shared_ptr<walk> &its = walks_[each->environment()->io];
        if (!its) {
            its = std::make_shared<walk>(shared_, shared_->found.size());
            shared_->found.emplace_back();
        }
        its->add(which, each);
    }
}

error peer_survey::ask(duration patience, std::vector<found_peer> &found) {
    const platform::cancellation_shield shield;
    const auto begin = std::chrono::steady_clock::now();
    for (const auto &[on, each] : walks_)
        each->make_room();
    shared_->walks_left = walks_.size();
    for (const auto &[on, each] : walks_)
        each->go_on(*on);
    const auto has_all = [this] { return shared_->walks_left == 0; };
    std::unique_lock lock(shared_->mutex);
    if (patience == for_ever)
        shared_->news.wait(lock, has_all);
    else
        (void)shared_->news.wait_until(lock, begin + patience, has_all);
    shared_->is_over = true;
    for (std::vector<found_peer> &each : shared_->found)
        std::move(each.begin(), each.end(), std::back_inserter(found));
    return !has_all() ? error::timed_out : shared_->is_short ? error::no_memory : error::none;
}

}  // namespace zlink
