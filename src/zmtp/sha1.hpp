// SHA-1, which the answer to a WebSocket request is made with. It protects nothing there: it shows
// that the request was understood.
//
// Wire:     RFC 3174.
#pragma once

#include <array>

#include "core/bytes.hpp"

namespace zlink {

using sha1_digest = std::array<std::uint8_t, 20>;

sha1_digest sha1(byte_span message) noexcept;

}  // namespace zlink
