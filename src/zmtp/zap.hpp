// A question to an authentication handler and its answer, as the frames of one message each. Pure.
//
// Wire:     RFC 27/ZAP 1.0. Request: (empty) | "1.0" | request id | domain | address | routing id |
//           mechanism | credentials, a frame each.
//           Reply: (empty) | "1.0" | request id | status code | status text | user id | metadata, a
//                  property list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/authenticator.hpp"
#include "core/bytes.hpp"

namespace zlink::zap {

/// Each question has a pipe of its own, so all may have one id.
constexpr std::string_view request_id = "1";

/// The frames of a request. They borrow from `what`. Throws bad_alloc.
std::vector<std::string_view> frames_of(const authentication_request &what);

/// A reply that has more frames than this is not read to its end.
constexpr std::size_t frames_of_reply = 7;

/// Reads what a reply says, told its frames, all or one more than there should be. Throws
/// bad_alloc.
verdict read_reply(const std::vector<byte_span> &frames);

}  // namespace zlink::zap
