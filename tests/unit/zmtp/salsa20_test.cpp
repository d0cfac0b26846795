// The key stream of Salsa20 beside libsodium's, whatever the processor has.
#include "zmtp/salsa20.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <sodium.h>
#include <vector>

#include "core/bytes.hpp"

namespace zlink {
namespace {

using octet_list = std::vector<std::uint8_t>;

class salsa20_stream : public ::testing::Test {
protected:
    salsa20_stream() { EXPECT_GE(sodium_init(), 0); }

    octet_list some(std::size_t size) {
        octet_list made(size);
        for (std::uint8_t &octet : made)
            octet = static_cast<std::uint8_t>(random_());
        return made;
    }
    octet_list crossed_by_sodium(const octet_list &text, std::uint64_t counter) {
        octet_list out(text.size());
        if (text.empty())  // libsodium wants a place even then
            return out;
        crypto_stream_salsa20_xor_ic(out.data(), text.data(), text.size(), nonce.data(), counter, key.data());
        return out;
    }
    octet_list crossed(const octet_list &text, std::uint64_t counter) {
        octet_list out(text.size());
        salsa20::cross(out.data(), text.data(), text.size(), nonce.data(), counter, key.data());
        return out;
    }

    std::mt19937 random_{4};
    octet_list key = some(salsa20::key_size);
    octet_list nonce = some(salsa20::nonce_size);
};

TEST_F(salsa20_stream, is_libsodiums_for_every_number_of_blocks_and_rest) {
    for (std::size_t blocks = 0; blocks <= 50; ++blocks)
        for (const std::size_t rest : {0, 1, 63}) {
            const octet_list text = some(64 * blocks + rest);
            EXPECT_EQ(crossed(text, 1), crossed_by_sodium(text, 1)) << blocks << " and " << rest;
        }
}

TEST_F(salsa20_stream, counts_blocks_beyond_32_bits) {
    const octet_list text = some(3 * 1024);
    for (std::uint64_t back = 0; back <= 49; ++back) {
        const std::uint64_t counter = (std::uint64_t{1} << 32) - back;
        EXPECT_EQ(crossed(text, counter), crossed_by_sodium(text, counter)) << back;
    }
}

TEST_F(salsa20_stream, is_laid_on_where_the_octets_stand_at_any_place) {
    const octet_list text = some(5000);
    const octet_list expected = crossed_by_sodium(text, 7);
    for (std::size_t at = 0; at < 64; ++at) {
        octet_list memory(at + text.size());
        std::copy(text.begin(), text.end(), memory.begin() + static_cast<std::ptrdiff_t>(at));
        salsa20::cross(memory.data() + at, memory.data() + at, text.size(), nonce.data(), 7, key.data());
        EXPECT_TRUE(
            std::equal(expected.begin(), expected.end(), memory.begin() + static_cast<std::ptrdiff_t>(at)))
            << at;
    }
}

TEST_F(salsa20_stream, differs_with_each_octet_of_key_and_nonce) {
    const octet_list text = some(1024);
    const octet_list before = crossed(text, 0);
    for (octet_list *const each : {&key, &nonce})
        for (std::uint8_t &octet : *each) {
            octet ^= 1;
            EXPECT_NE(crossed(text, 0), before);
            EXPECT_EQ(crossed(text, 0), crossed_by_sodium(text, 0));
            octet ^= 1;
        }
}

}  // namespace
}  // namespace zlink
