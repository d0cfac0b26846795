// Copies and comparisons of some octets: every size, and nothing beside it.
#include "core/bytes.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace zlink {
namespace {

constexpr std::size_t most = 3000;
constexpr std::uint8_t untouched = 0xee;

using copier = void (*)(std::uint8_t *, const std::uint8_t *, std::size_t) noexcept;

std::vector<std::uint8_t> counted(std::size_t size) {
    std::vector<std::uint8_t> made(size);
    std::iota(made.begin(), made.end(), std::uint8_t{1});
    return made;
}

void expect_exact_copies(copier copy, std::size_t largest) {
    for (std::size_t size = 0; size <= largest; ++size) {
        const auto from = counted(size);
        std::vector<std::uint8_t> to(size + 2, untouched);
        copy(to.data() + 1, from.data(), size);
        ASSERT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
        ASSERT_TRUE(to.front() == untouched && to.back() == untouched) << size;
    }
}

TEST(bytes, copies_every_size_and_no_octet_more) {
    expect_exact_copies([](auto *to, auto *from, std::size_t size) noexcept { copy_few(to, from, size); },
                        600);
    expect_exact_copies([](auto *to, auto *from, std::size_t size) noexcept { copy_body(to, from, size); },
                        most);
    expect_exact_copies(
        [](auto *to, auto *from, std::size_t size) noexcept { copy_foreign_body(to, from, size); }, most);
}

TEST(bytes, compares_every_octet_and_none_beside_them) {
    for (std::size_t size = 0; size <= 40; ++size) {
        auto a = counted(size + 1), b = a;
        b[size] = untouched;
        ASSERT_TRUE(are_equal(a.data(), b.data(), size)) << size;
        for (std::size_t at = 0; at < size; ++at) {
            b[at] ^= 0x80;
            ASSERT_FALSE(are_equal(a.data(), b.data(), size)) << size << " " << at;
            b[at] ^= 0x80;
        }
    }
}

}  // namespace
}  // namespace zlink
