// The long-term secret key, and the page that it stands on.
#include "core/curve_own_key.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <unistd.h>

#include "memory_search.hpp"

namespace zlink {
namespace {

using zlink_test::mapping;
using zlink_test::mapping_of;

const std::uint8_t *place_of(const curve_own_key &key) { return as_bytes(std::string_view(key)).data(); }

TEST(curve_own_key, stands_once_for_all_copies) {
    curve_own_key key;
    EXPECT_TRUE(key.empty());
    key = std::string(32, 's');
    const curve_own_key copy = key;
    EXPECT_EQ(place_of(copy), place_of(key));
    EXPECT_EQ(&copy.public_half(), &key.public_half());
    EXPECT_EQ(std::string_view(key), std::string(32, 's'));
    key = std::string(32, 't');
    EXPECT_EQ(std::string_view(copy), std::string(32, 's'));
    EXPECT_FALSE(copy == key);
    EXPECT_TRUE(copy == curve_own_key(std::string(32, 's')));
    key = std::string_view();
    EXPECT_TRUE(key.empty());
    EXPECT_TRUE(key == curve_own_key());
}

TEST(curve_own_key, stands_between_pages_that_nobody_may_touch_and_in_no_core) {
    const bool may_lock = zlink_test::may_lock_memory();
    const curve_own_key key(std::string(32, 's'));
    const mapping page = mapping_of(place_of(key));
    const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_TRUE(page.is_readable);
    EXPECT_FALSE(page.is_writable);
    EXPECT_FALSE(page.is_dumped()) << page.flags;
    EXPECT_EQ(page.is_locked(), may_lock) << page.flags;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place_of(key)) / size,
              (reinterpret_cast<std::uintptr_t>(place_of(key)) + 31) / size);
    const std::uint8_t *const behind = place_of(key) + 32;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(behind) % size, 0u) << "the next octet is of another page";
    EXPECT_EQ(mapping_of(behind).to > mapping_of(behind).from, true);
    EXPECT_FALSE(mapping_of(behind).is_readable);
}

TEST(curve_own_key, is_gone_with_its_last_copy) {
    std::optional<curve_own_key> key(std::string(32, 's')), copy = key;
    const std::uint8_t *const place = place_of(*key);
    key.reset();
    EXPECT_TRUE(mapping_of(place).is_readable);
    copy.reset();
    EXPECT_FALSE(mapping_of(place).is_readable);
}

}  // namespace
}  // namespace zlink
