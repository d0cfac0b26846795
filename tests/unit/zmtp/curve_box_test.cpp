// Boxes of CURVE beside those that libsodium's crypto_box makes.
#include "zmtp/curve_box.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <sodium.h>
#include <vector>

namespace zlink {
namespace {

constexpr char prefix[] = "CurveZMQMESSAGEC";
using octet_list = std::vector<std::uint8_t>;

struct key_of_test {
    key_of_test() {
        EXPECT_GE(sodium_init(), 0);
        randombytes_buf(octets.data(), octets.size());
    }
    std::array<std::uint8_t, curve_box::key_size> octets;
};

std::array<std::uint8_t, crypto_box_NONCEBYTES> nonce_of(std::uint64_t number) {
    std::array<std::uint8_t, crypto_box_NONCEBYTES> nonce;
    std::copy_n(prefix, curve_box::prefix_size, nonce.begin());
    put_u64(nonce.data() + curve_box::prefix_size, number);
    return nonce;
}

octet_list some_text(std::size_t size, std::mt19937 &random) {
    octet_list text(size);
    for (std::uint8_t &octet : text)
        octet = static_cast<std::uint8_t>(random());
    return text;
}

/// The text of a box: an octet, and what stands behind it.
octet_list sealed_by_sodium(const octet_list &text, std::uint64_t number, const key_of_test &key) {
    octet_list box(crypto_box_MACBYTES + text.size());
    EXPECT_EQ(crypto_box_easy_afternm(box.data(), text.data(), text.size(), nonce_of(number).data(),
                                      key.octets.data()),
              0);
    return box;
}

octet_list sealed(const curve_box &with, std::uint64_t number, const octet_list &text) {
    octet_list box(curve_box::tag_size + text.size());
    with.seal(number, text[0], byte_span(text).subspan(1), box.data());
    return box;
}

TEST(curve_box, is_the_one_that_libsodium_makes_of_any_size) {
    const key_of_test key;
    const curve_box box(key.octets.data(), prefix);
    std::mt19937 random(1);
    std::vector<std::size_t> sizes;
    for (std::size_t size = 1; size <= 300; ++size)
        sizes.push_back(size);
    for (const std::size_t size : {16 * 1024, 32 * 1024, 100'000, 1'000'000})
        for (const std::size_t more : {0, 1, 31, 32, 33, 63, 64})
            sizes.push_back(size + more);
    for (std::uint64_t number = 1; const std::size_t size : sizes) {
        const octet_list text = some_text(size, random);
        octet_list made = sealed(box, number, text);
        EXPECT_EQ(made, sealed_by_sodium(text, number, key)) << size;
        ASSERT_TRUE(box.open(number, made)) << size;
        EXPECT_TRUE(std::equal(text.begin(), text.end(), made.begin() + curve_box::tag_size)) << size;
        number = number * 3 + 1;
    }
}

TEST(curve_box, opens_what_libsodium_has_sealed_however_often) {
    const key_of_test key;
    const curve_box box(key.octets.data(), prefix);
    std::mt19937 random(2);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::size_t times = 20'000;
#else
    constexpr std::size_t times = 1'000'000;
#endif
    std::size_t opened = 0;
    for (std::uint64_t number = 1; number <= times; ++number) {
        const octet_list text = some_text(1 + random() % 48, random);
        octet_list made = sealed_by_sodium(text, number, key);
        opened += box.open(number, made) &&
                  std::equal(text.begin(), text.end(), made.begin() + curve_box::tag_size);
    }
    EXPECT_EQ(opened, times);
}

TEST(curve_box, opens_nothing_with_an_octet_or_the_number_changed) {
    const key_of_test key;
    const curve_box box(key.octets.data(), prefix);
    std::mt19937 random(3);
    for (const std::size_t size : {1, 32, 33, 200}) {
        const octet_list whole = sealed(box, 7, some_text(size, random));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            octet_list changed = whole;
            changed[at] ^= static_cast<std::uint8_t>(1 << random() % 8);
            EXPECT_FALSE(box.open(7, changed)) << at << " of " << size;
        }
        octet_list other = whole;
        EXPECT_FALSE(box.open(8, other));
        octet_list cut(whole.begin(), whole.end() - 1);
        EXPECT_FALSE(box.open(7, cut));
        EXPECT_FALSE(box.open(7, std::span(cut).first(curve_box::tag_size - 1)));
    }
}

TEST(curve_box, of_the_other_direction_does_not_open_it) {
    const key_of_test key;
    std::mt19937 random(4);
    octet_list box = sealed(curve_box(key.octets.data(), prefix), 1, some_text(10, random));
    EXPECT_FALSE(curve_box(key.octets.data(), "CurveZMQMESSAGES").open(1, box));
}

}  // namespace
}  // namespace zlink
