// The simulator's tests: many seeds without a violation, the same trace for the same seed, and planted faults found.
//
// Usage: sim_test [--seed N] [--seeds FIRST COUNT] [gtest options]
//   --seed N             runs one seed, says what kind of run it is and what was found; the status tells
//   --seeds FIRST COUNT  runs that many, for long runs by hand
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

#include "scenario.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace zlink::sim {

namespace {

constexpr std::uint64_t seed_count = 1000;

char running_seed[64];

/// Promise 9: whatever ends the process says which seed it was.
void say_seed(int number) {
    (void)!::write(STDERR_FILENO, running_seed, std::strlen(running_seed));
    std::signal(number, SIG_DFL);
    std::raise(number);
}

verdict run(std::uint64_t seed, planted plant = planted::nothing) {
    std::snprintf(running_seed, sizeof running_seed, "\nthe process ends in seed %llu\n",
                  static_cast<unsigned long long>(seed));
    return run_seed(seed, plant);
}

std::string report(std::uint64_t seed, const verdict &v) {
    return "seed " + std::to_string(seed) + " (" + v.story + "): promise " +
           std::to_string(static_cast<int>(v.broken)) + " broken, " + name_of(v.broken) + ": " + v.what;
}

bool run_and_print(std::uint64_t seed) {
    const verdict v = run(seed);
    std::printf("seed %llu: %s\n  %llu steps, %lld virtual ms, %llu messages, %llu breaks, trace %016llx\n",
                static_cast<unsigned long long>(seed), v.story.c_str(), static_cast<unsigned long long>(v.steps),
                static_cast<long long>(std::chrono::duration_cast<milliseconds>(v.elapsed).count()),
                static_cast<unsigned long long>(v.delivered), static_cast<unsigned long long>(v.breaks),
                static_cast<unsigned long long>(v.trace));
    if (v.broken == promise::none)
        return true;
    std::printf("%s\n", report(seed, v).c_str());
    return false;
}

int run_by_hand(std::uint64_t first, std::uint64_t count) {
    std::uint64_t broken = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const verdict v = run(seed);
        if (v.broken != promise::none) {
            ++broken;
            std::printf("%s\n", report(seed, v).c_str());
        }
    }
    std::printf("%llu of %llu seeds broken\n", static_cast<unsigned long long>(broken),
                static_cast<unsigned long long>(count));
    return broken ? 1 : 0;
}

TEST(simulator, keeps_every_promise_over_all_seeds) {
    std::uint64_t delivered = 0;
    std::uint64_t breaks = 0;
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= seed_count && broken < 10; ++seed) {
        const verdict v = run(seed);
        delivered += v.delivered;
        breaks += v.breaks;
        if (v.broken == promise::none)
            continue;
        ++broken;
        ADD_FAILURE() << report(seed, v) << "\nagain: sim_test --seed " << seed;
    }
    // Runs in which nothing happens prove nothing.
    EXPECT_GT(delivered, 50 * seed_count);
    EXPECT_GT(breaks, 2 * seed_count);
}

TEST(simulator, has_the_same_trace_for_the_same_seed) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const verdict first = run(seed);
        const verdict again = run(seed);
        EXPECT_EQ(first.trace, again.trace) << "seed " << seed;
        EXPECT_EQ(first.steps, again.steps) << "seed " << seed;
    }
    EXPECT_NE(run(1).trace, run(2).trace);
}

/// Runs seeds with a fault planted until it is found. What is found may leave memory behind: that is its nature.
void expect_found(planted what, promise as) {
#ifdef __SANITIZE_ADDRESS__
    __lsan::ScopedDisabler no_leak_check;
#endif
    for (std::uint64_t seed = 1; seed <= seed_count; ++seed) {
        const verdict v = run(seed, what);
        if (v.broken == promise::none)
            continue;
        EXPECT_EQ(v.broken, as) << report(seed, v);
        return;
    }
    FAIL() << "not found by " << seed_count << " seeds";
}

TEST(simulator, finds_a_planted_loss_of_one_frame) { expect_found(planted::dropped_frame, promise::atomic); }

}  // namespace

}  // namespace zlink::sim

int main(int argc, char **argv) {
    using namespace zlink::sim;
    std::signal(SIGABRT, say_seed);
    for (int i = 1; i < argc; ++i) {
        if (!std::strcmp(argv[i], "--seed") && i + 1 < argc)
            return run_and_print(std::strtoull(argv[i + 1], nullptr, 10)) ? 0 : 1;
        if (!std::strcmp(argv[i], "--seeds") && i + 2 < argc)
            return run_by_hand(std::strtoull(argv[i + 1], nullptr, 10), std::strtoull(argv[i + 2], nullptr, 10));
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
