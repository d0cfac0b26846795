// Memory for large bodies: what comes back is given out again, and no more than 64 MiB of it is
// kept.
#include "memory/large_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <set>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "child.hpp"
#include "chosen_processor.hpp"
#include "effort.hpp"
#include "limited_memory.hpp"

// The sanitizers would end the process where memory is short.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char *__tsan_default_options() { return "allocator_may_return_null=1"; }

namespace {
enum class moving {
    works,
    fails,
    fails_once_the_place_is_free,
    fails_once_another_has_the_place,
    fails_and_no_other_has_room
} how_moving_goes = moving::works;
void *others = nullptr;  // what another thread has mapped meanwhile
}  // namespace

/// The library's calls come here.
extern "C" void *mremap(void *from, std::size_t old_size, std::size_t new_size, int flags, ...) noexcept {
    std::va_list rest;
    va_start(rest, flags);
    void *const to = flags & MREMAP_FIXED ? va_arg(rest, void *) : nullptr;
    va_end(rest);
    if (how_moving_goes == moving::works)
        return reinterpret_cast<void *>(::syscall(SYS_mremap, from, old_size, new_size, flags, to));
    if (how_moving_goes != moving::fails)
        ::munmap(to, new_size);
    if (how_moving_goes == moving::fails_once_another_has_the_place) {
        others = ::mmap(to, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        std::memset(others, 'o', new_size);
    }
    if (how_moving_goes == moving::fails_and_no_other_has_room) {
        rlimit limit{};
        ::getrlimit(RLIMIT_AS, &limit);
        limit.rlim_cur = 1;
        ::setrlimit(RLIMIT_AS, &limit);
    }
    errno = ENOMEM;
    return MAP_FAILED;
}

namespace zlink {
namespace {

constexpr std::size_t most_octets_kept = (64u << 20) + (64u << 10);
// beside it, for blocks that came back last, by the number of the processor
constexpr int places = 8;
constexpr std::size_t most_nearby = places * ((2u << 20) + 64);

#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps = false;  // the sanitizer watches the heap's own blocks
#else
constexpr bool keeps = true;
#endif

class large_blocks_test : public ::testing::Test {
protected:
    /// Whatever is kept is of none of the sizes that a test looks at.
    void SetUp() override {
        ASSERT_NO_FATAL_FAILURE(where.go_to(where.all().front()));
        for (void *block : make(300'000, 2 * most_octets_kept / 300'000))
            large_blocks::release(block, 300'000);
    }

    static std::vector<void *> make(std::size_t size, std::size_t count) {
        std::vector<void *> blocks;
        for (std::size_t i = 0; i < count; ++i) {
            blocks.push_back(large_blocks::allocate(size));
            std::memset(blocks.back(), 'x', size);
        }
        return blocks;
    }

    /// Such as have places of their own for what came back last; one where there are no two.
    std::vector<int> two_processors() const {
        const std::vector<int> all = where.all();
        const auto other = std::find_if(all.begin(), all.end(),
                                        [&](int each) { return each % places != all.front() % places; });
        return other == all.end() ? std::vector{all.front()} : std::vector{all.front(), *other};
    }

    const zlink::test::chosen_processor where;
};

TEST_F(large_blocks_test, gives_out_again_what_came_last) {
    for (const std::size_t size : {65'536, 65'601, 100'000, 131'073, 1'000'000, 4 << 20, 64 << 20}) {
        SCOPED_TRACE(size);
        void *const first = large_blocks::allocate(size);
        std::memset(first, 'x', size);
        large_blocks::release(first, size);
        void *const again = large_blocks::allocate(size);
        EXPECT_EQ(again == first, keeps);
        large_blocks::release(again, size);
    }
}

TEST_F(large_blocks_test, gives_each_processor_what_it_had_last) {
    for (const std::size_t size : {100'000, 1'000'000, 2 << 20}) {
        SCOPED_TRACE(size);
        const std::vector<int> processors = two_processors();
        const std::vector<void *> blocks = make(size, processors.size());
        for (std::size_t i = 0; i < processors.size(); ++i) {
            ASSERT_NO_FATAL_FAILURE(where.go_to(processors[i]));
            large_blocks::release(blocks[i], size);
        }
        for (std::size_t i = 0; i < processors.size(); ++i) {
            ASSERT_NO_FATAL_FAILURE(where.go_to(processors[i]));
            void *const again = large_blocks::allocate(size);
            EXPECT_EQ(again == blocks[i], keeps);
            large_blocks::release(again, size);
        }
    }
}

TEST_F(large_blocks_test, gives_out_no_block_twice) {
    std::set<void *> out;
    for (void *block : make(100'000, 200))
        EXPECT_TRUE(out.insert(block).second);
    for (void *block : out)
        large_blocks::release(block, 100'000);
    out.clear();
    for (void *block : make(100'000, 200))
        EXPECT_TRUE(out.insert(block).second);
    for (void *block : out)
        large_blocks::release(block, 100'000);
}

TEST_F(large_blocks_test, keeps_no_more_than_its_limit_and_a_size_that_comes_back_instead_of_others) {
    for (const std::size_t size : {128 << 10, 2 << 20, 64 << 10, 4 << 20, 16 << 20, 256 << 10}) {
        SCOPED_TRACE(size);
        std::vector<void *> given = make(size, 2 * most_octets_kept / size);
        for (void *block : given) {
            large_blocks::release(block, size);
            EXPECT_LE(large_blocks::kept_octets(), most_octets_kept + most_nearby);
        }
        const std::size_t each = size + 64;
        const std::size_t most = most_octets_kept / each;
        EXPECT_GE(large_blocks::kept_octets(), keeps ? most * each : 0u);
        std::size_t again = 0;
        std::vector<void *> taken = make(size, most);
        for (void *block : taken)
            again += std::count(given.begin(), given.end(), block) > 0;
        EXPECT_EQ(again, keeps ? most : 0u);
        for (void *block : taken)
            large_blocks::release(block, size);
    }
}

TEST_F(large_blocks_test, tells_what_is_kept_while_another_thread_is_at_it) {
    constexpr std::size_t size = 4 << 20;
    for (void *block : make(size, 3))
        large_blocks::release(block, size);
    const std::size_t least = keeps ? 2 * size : 0;
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over.load(std::memory_order_relaxed))
            large_blocks::release(large_blocks::allocate(size), size);
    });
    std::size_t told = SIZE_MAX;
    for (int i = 0; i < 200'000; ++i)
        told = std::min(told, large_blocks::kept_octets());
    is_over.store(true, std::memory_order_relaxed);
    other.join();
    EXPECT_GE(told, least);
}

TEST_F(large_blocks_test, gives_up_what_it_keeps_where_memory_is_short) {
    EXPECT_EQ(large_blocks::kept_octets() > 0, keeps);
    EXPECT_EQ(large_blocks::allocate(PTRDIFF_MAX), nullptr);
    EXPECT_EQ(large_blocks::kept_octets(), 0u);
}

TEST_F(large_blocks_test, gives_what_it_keeps_and_asks_for_nothing_else) {
    large_blocks::release(large_blocks::allocate(3'000'000), 3'000'000);
    void *const kept = large_blocks::take_kept(3'000'000);
    EXPECT_EQ(kept != nullptr, keeps);
    EXPECT_EQ(large_blocks::take_kept(3'000'000), nullptr);
    if (kept)
        large_blocks::release(kept, 3'000'000);
}

TEST_F(large_blocks_test, grows_a_block_with_what_is_in_it) {
    for (const auto &[from, to] :
         {std::pair{100'000u, 200'000u}, std::pair{300'000u, 3'000'000u}, std::pair{3'000'000u, 9'000'000u},
          std::pair{60'000'000u, 80'000'000u}, std::pair{80'000'000u, 90'000'000u}}) {
        SCOPED_TRACE(from);
        auto *const small = static_cast<std::uint8_t *>(large_blocks::allocate(from));
        for (std::size_t i = 0; i < from; ++i)
            small[i] = static_cast<std::uint8_t>(i * 7);
        auto *const large = static_cast<std::uint8_t *>(large_blocks::grow(small, from, to, from));
        ASSERT_NE(large, nullptr);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < from; ++i)
            wrong += large[i] != static_cast<std::uint8_t>(i * 7);
        EXPECT_EQ(wrong, 0u);
        large[to - 1] = 1;
        EXPECT_EQ(large_blocks::grow(large, to, PTRDIFF_MAX, to), nullptr);
        EXPECT_EQ(large[to - 1], 1);
        large_blocks::release(large, to);
    }
}

TEST_F(large_blocks_test, serves_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            std::vector<std::pair<std::uint8_t *, std::size_t>> mine;
            for (int i = 0; i < 2000; ++i) {
                const std::size_t size = 60'000 + static_cast<std::size_t>(i * 7919 + t * 104'729) % 300'000;
                auto *block = static_cast<std::uint8_t *>(large_blocks::allocate(size));
                block[0] = block[size - 1] = static_cast<std::uint8_t>(t);
                mine.emplace_back(block, size);
                if (mine.size() < 8)
                    continue;
                for (const auto &[memory, octets] : mine) {
                    ASSERT_EQ(memory[0], t);
                    ASSERT_EQ(memory[octets - 1], t);
                    large_blocks::release(memory, octets);
                }
                mine.clear();
            }
            for (const auto &[memory, octets] : mine)
                large_blocks::release(memory, octets);
        });
    for (std::thread &each : threads)
        each.join();
}

#ifndef __SANITIZE_ADDRESS__
/// The other thread calls for no memory once it has settled: not every heap survives a fork in
/// between.
TEST_F(large_blocks_test, keeps_what_comes_back_in_a_child_of_fork_whatever_other_threads_do) {
    constexpr std::size_t size = 4 << 20;  // of those that are kept for all processors
    std::atomic<bool> has_settled{false}, is_over{false};
    std::thread other([&] {
        for (int round = 0; !is_over; ++round) {
            void *const block = large_blocks::take_kept(size);
            large_blocks::release(block ? block : large_blocks::allocate(size), size);
            has_settled = round > 10;
        }
    });
    while (!has_settled)
        std::this_thread::yield();
    for (int i = 0; i < zlink_test::effort(300, 60); ++i) {
        EXPECT_TRUE(zlink_test::in_child([] {
            large_blocks::release(large_blocks::allocate(size), size);
            zlink_test::end(large_blocks::take_kept(size));
        }));
    }
    is_over = true;
    other.join();
}

class large_blocks_that_do_not_move : public large_blocks_test {
protected:
    void TearDown() override {
        how_moving_goes = moving::works;
        large_blocks_test::TearDown();
    }
    static constexpr std::size_t small = 4 << 20, large = 32 << 20;
};

TEST_F(large_blocks_that_do_not_move, grow_by_a_copy) {
    for (const moving how : {moving::fails, moving::fails_once_the_place_is_free}) {
        auto *const block = static_cast<std::uint8_t *>(large_blocks::allocate(small));
        std::memset(block, 'x', small);
        how_moving_goes = how;
        auto *const grown = static_cast<std::uint8_t *>(large_blocks::grow(block, small, large, small));
        how_moving_goes = moving::works;
        ASSERT_NE(grown, nullptr);
        EXPECT_EQ(std::count(grown, grown + small, 'x'), small);
        std::memset(grown, 'y', large);
        large_blocks::release(grown, large);
    }
}

TEST_F(large_blocks_that_do_not_move, leave_alone_what_another_thread_has_mapped_meanwhile) {
    auto *const block = static_cast<std::uint8_t *>(large_blocks::allocate(small));
    std::memset(block, 'x', small);
    how_moving_goes = moving::fails_once_another_has_the_place;
    auto *const grown = static_cast<std::uint8_t *>(large_blocks::grow(block, small, large, small));
    how_moving_goes = moving::works;
    ASSERT_NE(grown, nullptr);
    EXPECT_EQ(std::count(grown, grown + small, 'x'), small);
    std::memset(grown, 'y', large);
    const auto *const theirs = static_cast<std::uint8_t *>(others);
    constexpr std::size_t least = small;
    EXPECT_EQ(std::count(theirs, theirs + least, 'o'), least);
    large_blocks::release(grown, large);
    ::munmap(others, least);
}

#ifndef __SANITIZE_THREAD__  // which needs room of its own at any time
TEST_F(large_blocks_that_do_not_move, stay_as_they_are_where_there_is_no_room_for_a_copy) {
    if (!test::address_space_can_be_limited())
        GTEST_SKIP() << "RLIMIT_AS does not hold here";
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    auto *const block = static_cast<std::uint8_t *>(large_blocks::allocate(small));
    std::memset(block, 'x', small);
    how_moving_goes = moving::fails_and_no_other_has_room;
    void *const grown = large_blocks::grow(block, small, large, small);
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    how_moving_goes = moving::works;
    ASSERT_EQ(grown, nullptr);  // or the block is no more
    EXPECT_EQ(std::count(block, block + small, 'x'), small);
    large_blocks::release(block, small);
}
#endif
#endif

}  // namespace
}  // namespace zlink
