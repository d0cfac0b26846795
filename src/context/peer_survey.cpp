// One walk for each loop, and the one who waits for all of them; see peer_survey.hpp. Map: what the
// walks and the asker share; a walk, some sessions in each of its rounds; asking.
#include "context/peer_survey.hpp"

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

namespace zlink {

struct peer_survey::progress {
    std::mutex mutex;  // guards the rest
    std::condition_variable news;
    std::vector<found_peer> found;
    std::size_t walks_left = 0;
    bool is_short = false;  // of memory
    bool is_over = false;   // nobody waits any more
};

/// Over the sessions of a loop, of which each step is a task on that.
class peer_survey::walk : public std::enable_shared_from_this<walk> {
public:
    explicit walk(std::shared_ptr<progress> shared) noexcept : shared_(std::move(shared)) {}

    void add(std::size_t which, const std::shared_ptr<session> &what) { all_.emplace_back(which, what); }
    /// Posts the next step. Ends the walk where that fails.
    void go_on(loop &on) noexcept {
        if (failed(on.post([self = shared_from_this(), &on] { self->step(on); })))
            end_short();
    }

private:
    void step(loop &on) noexcept {
        constexpr std::size_t most_connections_at_once = 256;  // so that none keeps its loop for long
        try {
            std::vector<found_peer> found;
            std::vector<peer_view> its;
            for (std::size_t left = most_connections_at_once; left > 0 && at_ < all_.size(); --left, ++at_) {
                its.clear();
                all_[at_].second->describe(its);
                for (peer_view &each : its)
                    found.push_back({all_[at_].first, std::move(each)});
            }
            std::lock_guard guard(shared_->mutex);
            if (shared_->is_over)
                return;
            std::move(found.begin(), found.end(), std::back_inserter(shared_->found));
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
    std::vector<std::pair<std::size_t, std::shared_ptr<session>>> all_;
    std::size_t at_ = 0;
};

peer_survey::peer_survey() : shared_(std::make_shared<progress>()) {}

peer_survey::~peer_survey() = default;

void peer_survey::add(std::size_t which, const std::vector<std::shared_ptr<session>> &sessions) {
    for (const std::shared_ptr<session> &each : sessions) {
        std::shared_ptr<walk> &its = walks_[each->environment()->io];
        if (!its)
            its = std::make_shared<walk>(shared_);
        its->add(which, each);
    }
}

error peer_survey::ask(duration patience, std::vector<found_peer> &found) {
    const auto until = std::chrono::steady_clock::now() + patience;
    shared_->walks_left = walks_.size();
    for (const auto &[on, each] : walks_)
        each->go_on(*on);
    std::unique_lock lock(shared_->mutex);
    const bool has_all = shared_->news.wait_until(lock, until, [this] { return shared_->walks_left == 0; });
    shared_->is_over = true;
    found = std::move(shared_->found);
    return !has_all ? error::timed_out : shared_->is_short ? error::no_memory : error::none;
}

}  // namespace zlink
