// Places for secrets of connections.
#include "core/secret_arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <memory>
#include <new>
#include <optional>
#include <sys/mman.h>
#include <vector>

#include "memory/process.hpp"
#include "memory_search.hpp"

namespace {

bool has_no_pages_left = false;
std::optional<bool> was_free_as_it_was_thrown;

template <class Function>
Function *real(const char *name) noexcept {
    return reinterpret_cast<Function *>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" void *mmap(void *at, std::size_t size, int access, int flags, int file, off_t offset) noexcept {
    static auto *const rest = real<decltype(mmap)>("mmap");
    return has_no_pages_left ? MAP_FAILED : rest(at, size, access, flags, file, offset);
}

/// The memory of an exception comes from here.
extern "C" void *__cxa_allocate_exception(std::size_t size) noexcept {
    if (has_no_pages_left) {
        was_free_as_it_was_thrown = zlink::platform::locks.keys.try_lock();
        if (*was_free_as_it_was_thrown)
            zlink::platform::locks.keys.unlock();
        has_no_pages_left = false;
    }
    static auto *const rest = real<void *(std::size_t)>("__cxa_allocate_exception");
    return rest(size);
}

namespace zlink {
namespace {

template <class Place>
bool is_zero(const Place &place) {
    return std::all_of(place.data(), place.data() + Place::size,
                       [](std::uint8_t octet) { return octet == 0; });
}

template <class Place>
class secret_place : public ::testing::Test {};
using places = ::testing::Types<arena_octets<32>, arena_octets<64>>;
TYPED_TEST_SUITE(secret_place, places);

TYPED_TEST(secret_place, is_in_no_core_and_locked_where_that_is_allowed) {
    const bool may_lock = zlink_test::may_lock_memory();
    const TypeParam place;
    const zlink_test::mapping where = zlink_test::mapping_of(place.data());
    EXPECT_TRUE(where.is_writable);
    EXPECT_FALSE(where.is_dumped()) << where.flags;
    EXPECT_EQ(where.is_locked(), may_lock) << where.flags;
}

/// More than a block has.
TYPED_TEST(secret_place, is_nobody_elses_and_begins_as_zeros) {
    std::vector<std::unique_ptr<TypeParam>> all;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 5000; ++i) {
            all.push_back(std::make_unique<TypeParam>());
            ASSERT_TRUE(is_zero(*all.back())) << i;
            std::memset(all.back()->data(), 's', TypeParam::size);
        }
        std::vector<const std::uint8_t *> begins;
        for (const auto &each : all)
            begins.push_back(each->data());
        std::sort(begins.begin(), begins.end());
        for (std::size_t i = 1; i < begins.size(); ++i)
            ASSERT_GE(static_cast<std::size_t>(begins[i] - begins[i - 1]), TypeParam::size);
        all.clear();
    }
}

TEST(secret_arena, throws_without_its_lock_where_memory_is_short) {
    std::deque<arena_octets<32>> keys;
    constexpr std::size_t more_than_other_tests_gave_back = 100'000;
    const auto fill = [&] {
        for (std::size_t i = 0; i < more_than_other_tests_gave_back; ++i) {
            has_no_pages_left = true;
            (void)arena_octets<32>();  // only this looks for pages while there are none
            has_no_pages_left = false;
            keys.emplace_back();
        }
    };
    was_free_as_it_was_thrown.reset();
    EXPECT_THROW(fill(), std::bad_alloc);
    has_no_pages_left = false;
    EXPECT_EQ(was_free_as_it_was_thrown, true);
    keys.emplace_back();  // and goes on when there is memory again
}

}  // namespace
}  // namespace zlink
