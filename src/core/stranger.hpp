// The protocol of a peer that speaks another one than was expected, told by its first octets. Pure.
#pragma once

#include "core/bytes.hpp"

namespace zlink {

enum class spoken { unknown, zmtp, http, tls, ssh };

/// Two octets are enough for those who are often met; with one it is unknown.
spoken protocol_of(byte_span start) noexcept;

}  // namespace zlink
