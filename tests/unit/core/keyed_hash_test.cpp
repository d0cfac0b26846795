// The hash of what peers choose.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/keyed_hash.hpp"

namespace zlink::test {

namespace {

/// The key that is asked for, in its two halves.
class fixed_random : public random_source {
public:
    fixed_random(std::uint64_t first, std::uint64_t second) : numbers_{first, second} {}
    std::uint64_t next() noexcept override { return numbers_[at_++ % 2]; }

private:
    std::uint64_t numbers_[2];
    std::size_t at_ = 0;
};

keyed_hash hash_of_key(std::uint64_t first, std::uint64_t second) {
    fixed_random key(first, second);
    return keyed_hash(key);
}

}  // namespace

// Python 3.11 says this with PYTHONHASHSEED=0, which makes the key zero.
TEST(keyed_hash, is_sip_hash_with_one_and_three_rounds) {
    const keyed_hash hash = hash_of_key(0, 0);
    EXPECT_EQ(hash("a"), 0x407448d2b89b1813u);
    EXPECT_EQ(hash("abc"), 0xc03bc3a0042630f2u);
    EXPECT_EQ(hash("12345678"), 0x3489982430560a87u);
    EXPECT_EQ(hash("123456789"), 0x0fbc0f0007965fcfu);
    EXPECT_EQ(hash("fifteen octets."), 0x8cc957c89ee99e73u);
    EXPECT_EQ(hash("a routing id of a peer"), 0xd09247f1625dbe1du);
}

TEST(keyed_hash, depends_on_both_halves_of_the_key) {
    std::set<std::size_t> all;
    for (const auto &[first, second] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
        const keyed_hash hash =
            hash_of_key(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(second));
        all.insert(hash(""));
        all.insert(hash("topic"));
    }
    EXPECT_EQ(all.size(), 8u);
}

TEST(keyed_hash, tells_a_text_from_one_with_more_zero_octets) {
    const keyed_hash hash = hash_of_key(1, 2);
    std::set<std::size_t> all;
    for (std::size_t size = 0; size < 20; ++size)
        all.insert(hash(std::string(size, '\0')));
    EXPECT_EQ(all.size(), 20u);
}

}  // namespace zlink::test
