// Keys of masks, of the key stream of libsodium's ChaCha20. mask_keys_of_system.cpp has them where
// there is no libsodium.
#include <sodium.h>

#include "core/sodium.hpp"
#include "zmtp/masking.hpp"

namespace zlink {

void mask_keys::draw() noexcept {
    static_assert(std::tuple_size_v<decltype(seed_)> == crypto_stream_chacha20_KEYBYTES);
    static_assert(sizeof draws_ == crypto_stream_chacha20_NONCEBYTES);
    if (draws_ == 0) {
        (void)begin_sodium();  // else it is slower
        randombytes_buf(seed_.data(), sizeof seed_);
    }
    std::array<std::uint8_t, sizeof draws_> nonce;
    put_u64(nonce.data(), draws_++);
    crypto_stream_chacha20(drawn_.data()->data(), sizeof drawn_, nonce.data(), seed_.data());
    used_ = 0;
}

}  // namespace zlink
