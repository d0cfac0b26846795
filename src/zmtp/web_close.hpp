// The contents of a Close frame.
//
// Wire:     nothing, or status:2 | reason, in UTF-8.   RFC 6455, sections 5.5.1 and 7.4.
#pragma once

#include <string>

#include "core/bytes.hpp"

namespace zlink {

/// RFC 3629: no longer form than needed, no surrogates, nothing above U+10FFFF.
bool is_utf8(byte_span text) noexcept;
/// Whether a status may stand there: some stand for what cannot be said.
bool may_be_sent(std::uint16_t status) noexcept;
/// 0, or the status to close with.
std::uint16_t judge_close(byte_span payload) noexcept;
/// For a person: "with 1009 (message too big): the reason", of a good one. Octets of the reason
/// that would not show become question marks.
std::string describe_close(byte_span payload);
/// Whether whoever closed like this only took its leave: without a status, or because it was done,
/// or goes away.
bool is_leave(byte_span payload) noexcept;

}  // namespace zlink
