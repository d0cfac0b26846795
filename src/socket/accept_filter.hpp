// Reads a ZMQ_TCP_ACCEPT_FILTER: an address, or the beginning of one, that may connect. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core/settings.hpp"

namespace zlink {

/// A numeric address with an optional prefix length, as "10.0.0.0/8" or "[fe80::]/10". Nothing when
/// it is none. Throws bad_alloc.
std::optional<ipv4_or_6_filter> parse_accept_filter(std::string_view text, bool allow_v6);

}  // namespace zlink
