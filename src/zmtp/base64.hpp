// Base64 with padding (RFC 4648, section 4), for the keys of a WebSocket upgrade.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/bytes.hpp"

namespace zlink {

/// Throws bad_alloc.
std::string to_base64(byte_span octets);
/// Whether a text is what exactly so many octets are written as: nothing else in it, and no bit set
/// that stands for none of them.
bool is_base64_of(std::string_view text, std::size_t octets) noexcept;

}  // namespace zlink
