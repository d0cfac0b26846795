// Octets masked behind a text, in slices that stay in the cache; see masking.hpp.
#include "zmtp/masking.hpp"

#include <algorithm>

namespace zlink {

void append_masked(std::vector<std::uint8_t> &out, byte_span octets, mask_key key) {
    constexpr std::size_t at_once =
        2 * 1024;  // from 4 KiB on memcpy() leaves the octets outside of the first cache
    static_assert(at_once % std::tuple_size_v<mask_key> == 0);
    while (!octets.empty()) {
        const byte_span slice = octets.first(std::min(octets.size(), at_once));
        const std::size_t at = out.size();
        out.insert(out.end(), slice.begin(), slice.end());
        mask_octets(out.data() + at, out.data() + at, slice.size(), key);
        octets = octets.subspan(slice.size());
    }
}

}  // namespace zlink
