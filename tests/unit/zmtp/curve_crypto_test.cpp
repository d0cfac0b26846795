// The boxes of CURVE, by the vectors of NaCl ("Cryptography in NaCl", sections 2 to 10), and what
// is done with their keys.
#include "zmtp/curve_crypto.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sodium.h>
#include <string>
#include <vector>

#include "zmtp/curve_box.hpp"
#include "zmtp/salsa20.hpp"

namespace zlink::curve {
namespace {

std::string from_hex(std::string_view hex) {
    std::string out;
    for (std::size_t at = 0; at < hex.size(); at += 2)
        out += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
    return out;
}

const std::string secret_of_bob =
    from_hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
const std::string public_of_bob =
    from_hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
const std::string public_of_alice =
    from_hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
const std::string first_key = from_hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
const std::string nonce_octets = from_hex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
const std::string text = from_hex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01"
    "233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd"
    "4924ca1c60902e52f0a089bc76897040e082f937763848645e0705");
const std::string box = from_hex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c"
    "98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfea"
    "bd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5");

nonce of_nacl() {
    return make_nonce(std::string_view(nonce_octets).substr(0, 8), as_bytes(nonce_octets).subspan(8));
}

curve_secret_key agreed() {
    curve_secret_key out;
    EXPECT_TRUE(agree(as_bytes(secret_of_bob), as_bytes(public_of_alice), out));
    return out;
}

TEST(curve_crypto, computes_what_nacl_does) {
    curve_key derived;
    ASSERT_TRUE(derive_curve_public(as_bytes(secret_of_bob), derived));
    EXPECT_EQ(as_text(derived), public_of_bob);
    const curve_secret_key shared = agreed();
    EXPECT_EQ(as_text(shared), first_key);
    std::string sealed(text.size() + box_overhead, '\0'), opened(text.size(), '\0');
    seal(as_bytes(text), of_nacl(), shared, reinterpret_cast<std::uint8_t *>(sealed.data()));
    EXPECT_EQ(sealed, box);
    EXPECT_TRUE(open(as_bytes(box), of_nacl(), shared, reinterpret_cast<std::uint8_t *>(opened.data())));
    EXPECT_EQ(opened, text);
}

// The programs core1, core2 and core3 of NaCl, which go from the point that both sides compute to
// the key stream.
const std::string point = from_hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
const std::string second_key = from_hex("dc908dda0b9344a953629b733820778880f3ceb421bb61b91cbd4c3e66256ce4");

std::string hsalsa20(const std::string &key, const std::string &in) {
    std::string out(crypto_core_hsalsa20_OUTPUTBYTES, '\0');
    EXPECT_EQ(crypto_core_hsalsa20(reinterpret_cast<unsigned char *>(out.data()), as_bytes(in).data(),
                                   as_bytes(key).data(), nullptr),
              0);
    return out;
}

TEST(curve_crypto, has_the_keys_of_nacl_on_the_way_to_a_box) {
    EXPECT_EQ(hsalsa20(point, std::string(crypto_core_hsalsa20_INPUTBYTES, '\0')), first_key);
    EXPECT_EQ(as_text(agreed()), first_key);
    EXPECT_EQ(hsalsa20(first_key, nonce_octets.substr(0, curve_box::prefix_size)), second_key);
    char prefix[curve_box::prefix_size + 1] = {};
    nonce_octets.copy(prefix, curve_box::prefix_size);
    const curve_box of_traffic(as_bytes(first_key).data(), prefix);
    const std::uint64_t number = get_u64(as_bytes(nonce_octets).data() + curve_box::prefix_size);
    std::string sealed(text.size() + curve_box::tag_size, '\0');
    of_traffic.seal(number, as_bytes(text).front(), as_bytes(text).subspan(1),
                    reinterpret_cast<std::uint8_t *>(sealed.data()));
    EXPECT_EQ(sealed, box);
}

TEST(curve_crypto, has_the_key_stream_of_nacl) {
    std::string stream(4 << 20, '\0');
    auto *const octets = reinterpret_cast<std::uint8_t *>(stream.data());
    salsa20::cross(octets, octets, stream.size(), as_bytes(nonce_octets).data() + curve_box::prefix_size, 0,
                   as_bytes(second_key).data());
    std::string hash(crypto_hash_sha256_BYTES, '\0');
    crypto_hash_sha256(reinterpret_cast<unsigned char *>(hash.data()), octets, stream.size());
    EXPECT_EQ(hash, from_hex("662b9d0e3463029156069b12f918691a98f7dfb2ca0393c96bbfc6b1fbd630a2"));
}

TEST(curve_crypto, opens_nothing_that_was_changed_or_cut) {
    const curve_secret_key shared = agreed();
    std::string out(text.size(), '\0');
    auto *const to = reinterpret_cast<std::uint8_t *>(out.data());
    for (std::size_t at = 0; at < box.size(); ++at) {
        std::string hurt = box;
        hurt[at] = static_cast<char>(hurt[at] ^ 1);
        EXPECT_FALSE(open(as_bytes(hurt), of_nacl(), shared, to)) << at;
        EXPECT_FALSE(open(as_bytes(box).first(at), of_nacl(), shared, to)) << at;
    }
    EXPECT_FALSE(open(as_bytes(box), make_nonce("CurveZMQREADY---", 1), shared, to));
}

TEST(curve_crypto, writes_numbers_of_nonces_in_network_order) {
    const nonce made = make_nonce("CurveZMQMESSAGEC", 0x0102030405060708);
    EXPECT_EQ(as_text(made), "CurveZMQMESSAGEC\1\2\3\4\5\6\7\10");
}

TEST(curve_crypto, compares_whole_texts) {
    EXPECT_TRUE(are_same(as_bytes("abc"), as_bytes("abc")));
    EXPECT_FALSE(are_same(as_bytes("abc"), as_bytes("abd")));
    EXPECT_FALSE(are_same(as_bytes("abc"), as_bytes("ab")));
    EXPECT_TRUE(is_zero(std::array<std::uint8_t, 3>{}));
    EXPECT_FALSE(is_zero(std::array<std::uint8_t, 3>{0, 0, 1}));
}

TEST(curve_crypto, draws_another_pair_each_time) {
    curve_key a, b, derived;
    curve_secret_key secret_of_a, secret_of_b;
    ASSERT_TRUE(make_pair(system_octets(), a, secret_of_a) && make_pair(system_octets(), b, secret_of_b));
    EXPECT_NE(a, b);
    ASSERT_TRUE(derive_curve_public(secret_of_a, derived));
    EXPECT_EQ(a, derived);
}

TEST(curve_crypto, draws_a_million_long_nonces_of_which_none_comes_again) {
    constexpr std::size_t many = 1'000'000;
    std::vector<std::array<std::uint8_t, long_nonce_size>> drawn(many);
    for (auto &each : drawn)
        ASSERT_TRUE(system_octets().draw(each.data(), each.size()));
    std::sort(drawn.begin(), drawn.end());
    EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
}

TEST(curve_secret_key, is_wiped_where_it_was) {
    curve_secret_key from;
    std::memset(from.data(), 's', from.size());
    curve_secret_key to = std::move(from);
    EXPECT_TRUE(is_zero(from));  // NOLINT: what is left of it is the question
    EXPECT_EQ(as_text(to), std::string(32, 's'));
    to.wipe();
    EXPECT_TRUE(is_zero(to));
}

TEST(curve_secret_key, leaves_nothing_in_memory_that_is_given_back) {
    auto key = std::make_unique<curve_secret_key>();
    const byte_span place = *key;
    std::memset(key->data(), 's', key->size());
    key.reset();
    asm volatile("" ::"r"(place.data()) : "memory");
    EXPECT_TRUE(is_zero(place.subspan(sizeof(void *)))) << "the arena's own note stands in front";
    EXPECT_NE(place.front(), 's');
}

}  // namespace
}  // namespace zlink::curve
