// The chunk pool: sizes, reuse, and chunks that outlive their pool.
#include "memory/chunk.hpp"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "limited_memory.hpp"
#include "memory/huge_blocks.hpp"
#include "memory/large_blocks.hpp"

namespace zlink {
namespace {

TEST(chunk, holds_at_least_what_was_asked_for) {
    auto pool = chunk_pool::make();
    for (std::size_t size = 1; size <= (1u << 20); size = size * 3 / 2 + 1) {
        chunk *c = pool->allocate(size);
        ASSERT_NE(c, nullptr);
        EXPECT_GE(c->capacity, size);
        EXPECT_EQ(c->references, 1u);
        std::memset(c->data(), 0x5a, c->capacity);
        c->release();
    }
}

TEST(chunk, of_a_full_class_has_room_for_a_frame_header) {
    auto pool = chunk_pool::make();
    chunk *c = pool->allocate(256 * 1024 + 9);
    ASSERT_NE(c, nullptr);
    EXPECT_LT(c->capacity, 257u * 1024) << "taken from the largest class, not made to measure";
    chunk *same = c;
    c->release();
    c = pool->allocate(256 * 1024);
    EXPECT_EQ(c, same);
    c->release();
}

TEST(chunk, is_used_again_by_the_same_class_only) {
    auto pool = chunk_pool::make();
    chunk *small = pool->allocate(100);
    small->release();
    chunk *large = pool->allocate(5000);
    EXPECT_NE(large, small);
    EXPECT_EQ(pool->allocate(120), small);
    small->release();
    large->release();
}

TEST(chunk, beyond_the_largest_class_is_made_to_measure) {
    auto pool = chunk_pool::make();
    chunk *c = pool->allocate(1000003);
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->capacity, 1000003u);
    c->release();
}

TEST(chunk, is_refused_when_no_memory_could_hold_it) {
    auto pool = chunk_pool::make();
    EXPECT_EQ(pool->allocate(std::numeric_limits<std::size_t>::max()), nullptr);
    EXPECT_EQ(pool->allocate(std::numeric_limits<std::size_t>::max() / 2), nullptr);
}

TEST(chunk, keeps_its_pool_alive) {
    auto pool = chunk_pool::make();
    std::weak_ptr<chunk_pool> watched = pool;
    chunk *a = pool->allocate(64);
    chunk *b = pool->allocate(64 * 1024);
    pool.reset();
    EXPECT_FALSE(watched.expired());
    a->release();
    EXPECT_FALSE(watched.expired());
    b->release();
    EXPECT_TRUE(watched.expired());
}

TEST(chunk, at_rest_does_not_keep_its_pool) {
    auto pool = chunk_pool::make();
    std::weak_ptr<chunk_pool> watched = pool;
    pool->allocate(64)->release();
    pool.reset();
    EXPECT_TRUE(watched.expired());
}

/// Uses very much, and leaves it idle.
void use_much(chunk_pool &pool) {
    std::vector<chunk *> used;
    for (const std::size_t size : {100u, 5000u, 64u * 1024, 128u * 1024, 256u * 1024}) {
        for (std::size_t octets = 0; octets < (64u << 20); octets += size)
            used.push_back(pool.allocate(size));
        large_blocks::release(large_blocks::allocate(2 * size), 2 * size);
    }
    for (chunk *c : used)
        c->release();
}

TEST(chunk_pools, give_up_what_is_idle) {
    auto pool = chunk_pool::make();
    auto other = chunk_pool::make();
    use_much(*pool);
    use_much(*other);
    EXPECT_GE(other->idle_octets(), 16u << 20);
    chunk *kept = pool->allocate(64 * 1024);
    chunk_pool::give_up_idle();
    EXPECT_EQ(pool->idle_octets(), 0u);
    EXPECT_EQ(other->idle_octets(), 0u);
    EXPECT_EQ(huge_blocks::idle_octets(), 0u);
    EXPECT_EQ(large_blocks::kept_octets(), 0u);
    kept->release();
    EXPECT_EQ(pool->allocate(64 * 1024), kept);
    kept->release();
}

/// So many of this size, which are idle then.
void use(chunk_pool &pool, std::size_t size, std::size_t count) {
    std::vector<chunk *> used;
    for (std::size_t i = 0; i < count; ++i)
        used.push_back(pool.allocate(size));
    for (chunk *c : used)
        c->release();
}

TEST(chunk_pools, tell_what_is_used_whatever_becomes_of_it) {
    auto pool = chunk_pool::make();
    std::vector<chunk *> used;
    for (const std::size_t size : {64u, 4096u, 64u * 1024, 256u * 1024, 1u << 20})
        for (int i = 0; i < 40; ++i)
            used.push_back(pool->allocate(size));
    constexpr std::size_t all = 40 * (64 + 4096 + 64 * 1024 + 256 * 1024);
    EXPECT_EQ(pool->used_octets(), all) << "but for the largest";
    for (const std::size_t left : {120u, 60u, 0u})
        for (; used.size() > left; used.pop_back())
            used.back()->release();
    EXPECT_EQ(pool->used_octets(), 0u) << "some is kept, and some is not";
    EXPECT_GT(pool->idle_octets(), 0u);
    chunk *const again = pool->allocate(4096);
    EXPECT_EQ(pool->used_octets(), 4096u);
    chunk_pool::give_up_idle();
    EXPECT_EQ(pool->used_octets(), 4096u);
    again->release();
    use(*pool, 64 * 1024, 60);
    for (int i = 1; i < 6; ++i)
        chunk_pool::age_idle(std::chrono::steady_clock::now() + std::chrono::seconds(2 * i));
    EXPECT_EQ(pool->used_octets(), 0u);
}

TEST(chunk_pools, give_back_half_of_what_was_not_used_with_each_look) {
    using namespace std::chrono_literals;
    auto pool = chunk_pool::make();
    time_point now = std::chrono::steady_clock::now() + 1h;  // whatever other tests have looked at
    const auto look = [&] { chunk_pool::age_idle(now += 1s); };
    look();
    use(*pool, 64 * 1024, 36);
    EXPECT_TRUE(chunk_pool::has_ageing());
    look();
    EXPECT_EQ(pool->idle_octets(), 36u * 64 * 1024) << "it was used just now";
    use(*pool, 64 * 1024, 16);
    chunk_pool::age_idle(now + 900ms);
    EXPECT_EQ(pool->idle_octets(), 36u * 64 * 1024) << "the last look is not a second ago";
    look();
    EXPECT_EQ(pool->idle_octets(), 30u * 64 * 1024) << "half of the 12 beyond the eight that do not age";
    for (int looks = 0; chunk_pool::has_ageing(); look())
        ASSERT_LT(++looks, 10);
    EXPECT_EQ(pool->idle_octets(), 8u * 64 * 1024);
    use(*pool, 64 * 1024, 9);
    EXPECT_TRUE(chunk_pool::has_ageing());
}

TEST(chunk_pools, that_end_leave_no_idle_pages) {
    auto pool = chunk_pool::make();
    use_much(*pool);
    pool.reset();
    EXPECT_EQ(huge_blocks::idle_octets(), 0u);
    EXPECT_EQ(large_blocks::kept_octets(), 0u);
}

#ifndef __SANITIZE_ADDRESS__  // its own memory does not fit

TEST(chunk_pools, give_up_what_is_idle_before_memory_counts_as_short) {
    if (!test::address_space_can_be_limited())
        GTEST_SKIP() << "RLIMIT_AS does not hold here";
    auto pool = chunk_pool::make();
    use_much(*pool);
    rlimit before;
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    long pages = 0;
    ASSERT_TRUE(std::ifstream("/proc/self/statm") >> pages);
    const rlimit tight{static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE)) + (1u << 20), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
    chunk *c = pool->allocate(192u << 20);  // more than the heap has kept
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(pool->idle_octets(), 0u);
    c->release();
}

#endif

TEST(chunk, returns_only_with_its_last_reference) {
    auto pool = chunk_pool::make();
    chunk *c = pool->allocate(64);
    block_ref second = block_ref::share(c);
    c->release();
    chunk *other = pool->allocate(64);
    EXPECT_NE(other, c);
    second.reset();
    EXPECT_EQ(pool->allocate(64), c);
    c->release();
    other->release();
}

}  // namespace
}  // namespace zlink
