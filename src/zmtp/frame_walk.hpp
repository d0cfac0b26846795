// Walks the frames of a block of traffic: validates their headers and counts whole messages. Header
// only, for the driver runs it over every block it reads.
//
// Wire:     RFC 23/ZMTP 3.1, "Framing". Reserved flags, MORE on a command and a size above 2^63-1
//           are errors.
// Limits:   sizes are checked on the header, before any of the body has arrived.
#pragma once

#include <cstdint>

#include "core/bytes.hpp"
#include "core/frame.hpp"

namespace zlink {

/// Longest command body that is accepted, in a handshake and in traffic.
constexpr std::uint64_t max_command_size = 64 * 1024;

struct walk_limits {
    std::uint64_t max_body = UINT64_MAX;           // of one message frame
    std::uint64_t max_messages = UINT64_MAX;       // whole messages to walk
    std::uint64_t max_command = max_command_size;  // body of one command frame
};

enum class walk_stop {
    need_more,      // the input is used up, or ends inside the next frame
    command,        // the next frame is a command, perhaps not all of it there
    message_limit,  // limits.max_messages whole messages have been walked
    bad_frame,      // the next frame breaks the framing rules
    too_big,        // the next frame is larger than its limit
};

struct walk_result {
    std::size_t octets = 0;          // whole frames walked
    std::size_t message_octets = 0;  // up to the last end of a whole message
    std::uint32_t messages = 0;
    walk_stop stop = walk_stop::need_more;
    // Header of the frame stopped at; header_size 0 when not all of it is there.
    frame_header next{};
};

/// Reads the header of the next frame and judges it without its body. need_more means: nothing is
/// wrong so far.
inline walk_stop judge_frame(byte_span in, const walk_limits &limits, frame_header &header) noexcept {
    header = {};
    if (in.empty())
        return walk_stop::need_more;
    const std::uint8_t flags = in[0];
    const bool is_command = flags & frame_flag::command;
    if ((flags & frame_flag::reserved) || (is_command && (flags & frame_flag::more)))
        return walk_stop::bad_frame;
    if (!get_frame_header(in.data(), in.size(), header)) {
        header = {};
        return is_command ? walk_stop::command : walk_stop::need_more;
    }
    if (header.body_size >> 63)
        return walk_stop::bad_frame;
    if (header.body_size > (is_command ? limits.max_command : limits.max_body))
        return walk_stop::too_big;
    return is_command ? walk_stop::command : walk_stop::need_more;
}

/// Walks whole message frames off the front of `in`. `in_message` says whether the frame before was
/// one with MORE; the caller keeps it from block to block. A command may stand between the frames
/// of a message. At the message limit the walk looks at the next frame once more: if that is a
/// command it says so instead of message_limit.
inline walk_result walk_frames(byte_span in, bool &in_message, const walk_limits &limits) noexcept {
    const std::uint8_t *const begin = in.data();
    const std::uint8_t *const end = begin + in.size();
    const std::uint8_t *p = begin;
    const std::uint8_t *message_end = begin;
    const std::uint64_t max_messages = limits.max_messages < UINT32_MAX ? limits.max_messages : UINT32_MAX;
    std::uint64_t messages = 0;
    walk_result result;

    for (;;) {
        while (messages < max_messages && static_cast<std::size_t>(end - p) >= short_header_size) {
            const std::uint32_t header = static_cast<std::uint32_t>(p[0] | p[1] << 8);
            const std::size_t size = header >> 8;
            const std::size_t step = short_header_size + size;
            if ((header & 0xff) > frame_flag::more || size > limits.max_body ||
                static_cast<std::size_t>(end - p) < step)
                break;
            p += step;
            if (!(header & frame_flag::more)) {
                ++messages;
                message_end = p;
            }
        }

        // Anything else than a whole short message frame within the limits.
        const byte_span rest(p, end);
        result.stop = judge_frame(rest, limits, result.next);
        if (messages >= max_messages) {
            if (result.stop != walk_stop::command)
                result.stop = walk_stop::message_limit;
            break;
        }
        if (result.stop != walk_stop::need_more || result.next.header_size == 0 ||
            result.next.body_size > rest.size() - result.next.header_size)
            break;
        p += result.next.header_size + result.next.body_size;
        if (!result.next.has_more()) {
            ++messages;
            message_end = p;
        }
    }

    if (p != begin)
        in_message = p != message_end;
    result.octets = static_cast<std::size_t>(p - begin);
    result.message_octets = static_cast<std::size_t>(message_end - begin);
    result.messages = static_cast<std::uint32_t>(messages);
    return result;
}

}  // namespace zlink
