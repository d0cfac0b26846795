// Many threads post, one sleeps until there is something: nothing is lost, and nobody sleeps
// through a command.
#include "socket/mailbox.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "core/platform.hpp"

namespace zlink {
namespace {

constexpr int poster_count = 3;
constexpr int posts_each = 20000;

TEST(mailbox_stress, wakes_its_thread_for_every_command_of_every_poster) {
    const auto how = platform::make_waiter(platform::steady_clock());
    const auto pool = chunk_pool::make();
    const auto box = std::make_shared<mailbox>();
    ASSERT_EQ(box->make_wakeup(*how), error::none);

    std::vector<pipe_ends> pipes;
    for (int i = 0; i < poster_count; ++i)
        pipes.push_back(make_pipe(pool, {}));
    std::vector<std::thread> posters;
    for (int i = 0; i < poster_count; ++i) {
        posters.emplace_back([&, i] {
            for (int n = 0; n < posts_each; ++n) {
                box->on_readable(*pipes[i].first);
                if (n % 64 == 0)
                    std::this_thread::yield();
            }
        });
    }

    std::map<pipe_end *, int> seen;
    std::vector<mailbox::command> commands;
    for (int total = 0; total < poster_count * posts_each;) {
        if (!box->has_commands() && box->begin_wait()) {
            wait_item item{box->level()->descriptor(), 1, 0, box->level(), 0};
            ASSERT_EQ(how->wait({&item, 1}, time_point::max()), error::none);
        }
        box->end_wait();
        commands.clear();
        box->take(commands);
        for (const auto &what : commands)
            ++seen[what.pipe.get()];
        total += static_cast<int>(commands.size());
    }
    for (auto &poster : posters)
        poster.join();
    for (const auto &ends : pipes)
        EXPECT_EQ(seen[ends.first.get()], posts_each);
    EXPECT_FALSE(box->has_commands());
}

TEST(mailbox_stress, gives_every_pipe_back_that_arrives_while_it_closes) {
    const auto pool = chunk_pool::make();
    for (int round = 0; round < 500; ++round) {
        const auto box = std::make_shared<mailbox>();
        const pipe_ends ends = make_pipe(pool, {});
        bool was_taken = true;
        std::thread poster([&] {
            was_taken = box->post({mailbox::command_kind::attach, ends.first, false});
        });
        const auto given_back = box->close();
        poster.join();
        EXPECT_EQ(given_back.size(), was_taken ? 1u : 0u);
    }
}

}  // namespace
}  // namespace zlink
