// The chunk pool: sizes, reuse, and chunks that outlive their pool.
#include "core/chunk.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

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
