// The calls of libsodium in the CURVE handshake. See curve_crypto.hpp.
//
// Map: random octets; nonces; keys; boxes; comparing. Of the handshake this file alone knows
//      libsodium.
#include "zmtp/curve_crypto.hpp"

#include <sodium.h>

#include <algorithm>

#include "core/invariant.hpp"
#include "core/platform.hpp"
#include "core/sodium.hpp"

namespace zlink::curve {

static_assert(crypto_box_BEFORENMBYTES == key_size);
static_assert(crypto_scalarmult_BYTES == key_size && crypto_core_hsalsa20_OUTPUTBYTES == key_size);
static_assert(crypto_secretbox_KEYBYTES == key_size);
static_assert(crypto_secretbox_MACBYTES == box_overhead);
static_assert(crypto_secretbox_NONCEBYTES == std::tuple_size_v<nonce>);

namespace {

class octets_of_system final : public random_octets {
public:
    constexpr ~octets_of_system() override {}
    bool draw(std::uint8_t *to, std::size_t size) const noexcept override {
        return platform::draw_secret_octets(to, size);
    }
};

}  // namespace

const random_octets &system_octets() noexcept {
    static constexpr octets_of_system source;  // never destroyed: I/O threads may outlive main()
    return source;
}

nonce make_nonce(std::string_view prefix, byte_span drawn) noexcept {
    nonce out;
    ZLINK_INVARIANT(prefix.size() + drawn.size() == out.size());
    std::copy(drawn.begin(), drawn.end(), std::copy(prefix.begin(), prefix.end(), out.begin()));
    return out;
}

nonce make_nonce(std::string_view prefix, std::uint64_t number) noexcept {
    std::uint8_t octets[short_nonce_size];
    put_u64(octets, number);
    return make_nonce(prefix, byte_span(octets));
}

bool make_pair(const random_octets &from, curve_key &public_key, curve_secret_key &secret_key) noexcept {
    return from.draw(secret_key.data(), secret_key.size()) && derive_curve_public(secret_key, public_key);
}

// In two steps, as crypto_box_beforenm() does it: that one leaves the result of the first on the
// stack.
bool agree(byte_span own_secret, byte_span their_public, curve_secret_key &out) noexcept {
    ZLINK_INVARIANT(own_secret.size() == key_size && their_public.size() == key_size);
    static constexpr std::uint8_t zeros[crypto_core_hsalsa20_INPUTBYTES] = {};
    if (!begin_sodium() || crypto_scalarmult(out.data(), own_secret.data(), their_public.data()) != 0)
        return false;
    return crypto_core_hsalsa20(out.data(), zeros, out.data(), nullptr) == 0;
}

// A box between two keys is a secret box with what they agree on.
void seal(byte_span text, const nonce &used, const curve_secret_key &shared, std::uint8_t *out) noexcept {
    crypto_secretbox_easy(out, text.data(), text.size(), used.data(), shared.data());
}

bool open(byte_span box, const nonce &used, const curve_secret_key &shared, std::uint8_t *out) noexcept {
    return box.size() >= box_overhead &&
           crypto_secretbox_open_easy(out, box.data(), box.size(), used.data(), shared.data()) == 0;
}

bool are_same(byte_span a, byte_span b) noexcept {
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool is_zero(byte_span octets) noexcept { return sodium_is_zero(octets.data(), octets.size()) == 1; }

}  // namespace zlink::curve
