#include "zmtp/masking.hpp"

#include <algorithm>
#include <sodium.h>

namespace zlink {

void append_masked(std::vector<std::uint8_t> &out, byte_span octets, mask_key key) {
    constexpr std::size_t at_once =
        2 * 1024;  // from 4 KiB on memcpy() leaves the octets outside of the first cache
    static_assert(at_once % std::tuple_size_v<mask_key> == 0);
    while (!octets.empty()) {
        const byte_span piece = octets.first(std::min(octets.size(), at_once));
        const std::size_t at = out.size();
        out.insert(out.end(), piece.begin(), piece.end());
        mask_octets(out.data() + at, out.data() + at, piece.size(), key);
        octets = octets.subspan(piece.size());
    }
}

void mask_keys::draw() noexcept {
    static_assert(std::tuple_size_v<decltype(seed_)> == crypto_stream_chacha20_KEYBYTES);
    static_assert(sizeof draws_ == crypto_stream_chacha20_NONCEBYTES);
    if (draws_ == 0) {
        [[maybe_unused]] static const int is_ready =
            sodium_init();  // the quickest code, and one thread at a time
        randombytes_buf(seed_.data(), sizeof seed_);
    }
    std::array<std::uint8_t, sizeof draws_> nonce;
    put_u64(nonce.data(), draws_++);
    crypto_stream_chacha20(drawn_.data()->data(), sizeof drawn_, nonce.data(), seed_.data());
    used_ = 0;
}

}  // namespace zlink
