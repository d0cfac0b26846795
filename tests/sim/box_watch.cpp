// No key is ever derived where CURVE is not built.
#include "box_watch.hpp"

#include <algorithm>

#ifdef ZLINK_WITH_CURVE
#include <sodium.h>
#endif

#include "world.hpp"

namespace zlink::sim {

#ifdef ZLINK_WITH_CURVE

void box_watch::note(const std::uint8_t *shared, const std::uint8_t *prefix) noexcept {
    const plenty_of_memory for_the_simulator;
    key made;
    std::copy_n(shared, made.shared.size(), made.shared.begin());
    std::copy_n(prefix, made.prefix.size(), made.prefix.begin());
    if (std::ranges::find(keys_, made) == keys_.end())
        keys_.push_back(made);
}

bool box_watch::open(std::uint64_t number, byte_span box, std::size_t &by,
                     std::vector<std::uint8_t> &text) const {
    if (box.size() < curve_box::tag_size)
        return false;
    text.resize(box.size() - curve_box::tag_size);
    const auto opens = [&](const key &which) {
        std::array<std::uint8_t, crypto_box_NONCEBYTES> nonce;
        std::ranges::copy(which.prefix, nonce.begin());
        put_u64(nonce.data() + which.prefix.size(), number);
        return crypto_box_open_easy_afternm(text.data(), box.data(), box.size(), nonce.data(),
                                            which.shared.data()) == 0;
    };
    if (by < keys_.size() && opens(keys_[by]))
        return true;
    // The newest are of the connections that are there.
    const auto found = std::find_if(keys_.rbegin(), keys_.rend(), opens);
    if (found == keys_.rend())
        return false;
    by = static_cast<std::size_t>(keys_.rend() - found) - 1;
    return true;
}

#else

void box_watch::note(const std::uint8_t *, const std::uint8_t *) noexcept {}
bool box_watch::open(std::uint64_t, byte_span, std::size_t &, std::vector<std::uint8_t> &) const {
    return false;
}

#endif

}  // namespace zlink::sim

#ifdef ZLINK_WITH_CURVE

extern "C" int __real_crypto_core_hsalsa20(unsigned char *, const unsigned char *, const unsigned char *,
                                           const unsigned char *);
extern "C" int __wrap_crypto_core_hsalsa20(unsigned char *out, const unsigned char *in,
                                           const unsigned char *key, const unsigned char *constant) {
    if (zlink::sim::world *here = zlink::sim::world::running())
        here->boxes.note(key, in);
    return __real_crypto_core_hsalsa20(out, in, key, constant);
}

#endif
