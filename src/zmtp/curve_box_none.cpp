// The boxes of a library that is built without CURVE: no handshake agrees on a key, so nothing is
// ever sealed. curve_box.cpp has the others.
#include "core/invariant.hpp"
#include "zmtp/curve_box.hpp"

namespace zlink {

curve_box::curve_box(const std::uint8_t *, const char (&)[prefix_size + 1]) {}

void curve_box::seal(std::uint64_t, std::uint8_t, byte_span, std::uint8_t *) const noexcept {
    ZLINK_INVARIANT(!"built without CURVE");
}

bool curve_box::open(std::uint64_t, std::span<std::uint8_t>) const noexcept { return false; }

}  // namespace zlink
