// The frames that boxes of CURVE stand in on the wire, and the content of the boxes, for whatever
// writes or reads them.
//
// Wire:     RFC 26/CurveZMQ, "MESSAGE Command": a message frame without more, whose body is  %d7
//           "MESSAGE" | number:8 | box. In the box stands an octet of flags, and behind it the
//           body. 1: more frames of the message follow. 2: it is a command.
// Batches:  where both sides have agreed on it, 4: behind the octet stand frames as in ZMTP 3.1,
//           one or more, each of them whole, 64 KiB at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "zmtp/curve_box.hpp"

namespace zlink {

namespace curve_octet {
constexpr std::uint8_t more = 1;
constexpr std::uint8_t command = 2;
constexpr std::uint8_t batch = 4;
}  // namespace curve_octet

/// The name of the command, with its size in front.
constexpr std::string_view curve_message_name = "\7MESSAGE";
/// The octets that stand in front of a box: that, and the number.
constexpr std::size_t curve_head_size = 16;
/// Octets more than in the body of a frame: head, tag, flags.
constexpr std::size_t curve_growth = curve_head_size + curve_box::tag_size + 1;
/// The most octets in a batch.
constexpr std::size_t most_octets_in_curve_batch = 64 * 1024;

struct curve_limits {
    std::uint64_t max_body = UINT64_MAX;  // of a message frame that comes
    std::uint64_t max_command = 0;
};

/// Octets of the body of a frame that holds a box, at most.
constexpr std::uint64_t most_octets_in_curve_frame(std::uint64_t max_body,
                                                   std::uint64_t max_command) noexcept {
    const std::uint64_t most = std::max({max_body, max_command, std::uint64_t{most_octets_in_curve_batch}});
    return most > UINT64_MAX - curve_growth ? most : most + curve_growth;
}

}  // namespace zlink
