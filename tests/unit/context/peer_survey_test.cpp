#include "context/peer_survey.hpp"

#include <deque>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <mutex>

#include "eventually.hpp"

namespace zlink {
namespace {

/// A loop whose turns a test counts: it does one thing in each.
class counted_loop final : public loop {
public:
    void post(loop_task &) noexcept override {}
    error post(std::function<void()> work) noexcept override {
        std::lock_guard guard(mutex_);
        waiting_.push_back(std::move(work));
        return error::none;
    }
    error post_and_wait(const std::function<void()> &) noexcept override { return error::none; }
    void run_before_sleep(loop_task &) noexcept override {}
    std::unique_ptr<timer> make_timer(std::function<void()>) noexcept override { return nullptr; }
    time_point now() const noexcept override { return {}; }

    bool has_work() {
        std::lock_guard guard(mutex_);
        return !waiting_.empty();
    }
    void turn() {
        std::unique_lock lock(mutex_);
        const std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
    }

private:
    std::mutex mutex_;
    std::deque<std::function<void()>> waiting_;
};

std::vector<std::shared_ptr<session>> sessions_on(loop &io, std::size_t count) {
    const auto environment = std::make_shared<session_environment>();
    environment->io = &io;
    environment->endpoint = "tcp://there";
    std::vector<std::shared_ptr<session>> made;
    for (std::size_t i = 0; i < count; ++i)
        made.push_back(session::accepted(environment, nullptr));
    return made;
}

TEST(a_survey_of_peers, asks_a_bounded_number_in_a_turn_of_their_loop) {
    constexpr std::size_t peers = 1000;
    counted_loop first, second;
    const auto many = sessions_on(first, peers), few = sessions_on(second, 3);
    std::vector<std::uint64_t> of_many, of_few;
    auto asked = std::async(std::launch::async, [&] {
        peer_survey survey;
        survey.add(7, many);
        survey.add(8, few);
        return survey.take(peer_survey::for_ever, [&](std::size_t which, peer_view &&peer) {
            (which == 7 ? of_many : of_few).push_back(peer.id);
        });
    });
    ASSERT_TRUE(zlink_test::eventually([&] { return first.has_work() && second.has_work(); }));
    second.turn();
    EXPECT_FALSE(second.has_work());
    std::size_t turns = 0, between = 0;
    for (; first.has_work(); ++turns) {
        ASSERT_EQ(first.post([&] { ++between; }), error::none);
        first.turn();  // some of the peers
        EXPECT_EQ(between, turns);
        first.turn();  // what connections want
        EXPECT_EQ(between, turns + 1) << "the next of them came first";
    }
    EXPECT_LE(peer_survey::most_peers_of_turn, 64u) << "as docs/metrics.md says";
    EXPECT_EQ(turns, (peers + peer_survey::most_peers_of_turn - 1) / peer_survey::most_peers_of_turn);
    EXPECT_EQ(asked.get(), error::none);
    ASSERT_EQ(of_many.size(), peers);
    for (std::size_t i = 0; i < peers; ++i)
        EXPECT_EQ(of_many[i], many[i]->number());
    EXPECT_EQ(of_few.size(), few.size());
}

TEST(a_survey_of_peers, tells_what_it_has_when_a_loop_hangs) {
    counted_loop hangs, works;
    const auto hidden = sessions_on(hangs, 2), seen = sessions_on(works, 2);
    std::size_t found = 0;
    auto asked = std::async(std::launch::async, [&] {
        peer_survey survey;
        survey.add(0, hidden);
        survey.add(0, seen);
        return survey.take(std::chrono::milliseconds(200), [&](std::size_t, peer_view &&) { ++found; });
    });
    ASSERT_TRUE(zlink_test::eventually([&] { return works.has_work() && hangs.has_work(); }));
    works.turn();
    EXPECT_EQ(asked.get(), error::timed_out);
    EXPECT_LE(found, seen.size());
    hangs.turn();  // late, and for nobody
    EXPECT_FALSE(hangs.has_work());
}

}  // namespace
}  // namespace zlink
