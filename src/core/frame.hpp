// The frame header of ZMTP 2.0 and later, written and read in this one place.
//
// Wire:  flags:1 | size:1 or 8 | body.   RFC 23/ZMTP 3.1, "Framing".
#pragma once

#include "core/bytes.hpp"

namespace zlink {

namespace frame_flag {
constexpr std::uint8_t more = 0x01;     // further frames of the same message follow
constexpr std::uint8_t large = 0x02;    // the size takes eight octets instead of one
constexpr std::uint8_t command = 0x04;  // a command, not part of a message
constexpr std::uint8_t reserved = 0xf8;
}  // namespace frame_flag

constexpr std::size_t short_header_size = 2;
constexpr std::size_t long_header_size = 9;
constexpr std::size_t max_short_body = 255;

constexpr std::size_t frame_header_size(std::size_t body_size) noexcept {
    return body_size > max_short_body ? long_header_size : short_header_size;
}

/// Writes the header of a frame; `flags` holds more and command only. Returns the first octet after
/// it.
inline std::uint8_t *put_frame_header(std::uint8_t *out, std::size_t body_size, std::uint8_t flags) noexcept {
    if (body_size <= max_short_body) {
        out[0] = flags;
        out[1] = static_cast<std::uint8_t>(body_size);
        return out + short_header_size;
    }
    out[0] = flags | frame_flag::large;
    put_u64(out + 1, body_size);
    return out + long_header_size;
}

struct frame_header {
    std::uint64_t body_size = 0;
    std::uint8_t flags = 0;  // as on the wire
    std::uint8_t header_size = 0;

    bool has_more() const noexcept { return flags & frame_flag::more; }
    bool is_command() const noexcept { return flags & frame_flag::command; }
};

/// Reads a header; false when `available` octets do not hold all of it. Validates nothing.
inline bool get_frame_header(const std::uint8_t *p, std::size_t available, frame_header &out) noexcept {
    if (available < short_header_size)
        return false;
    out.flags = p[0];
    if (!(p[0] & frame_flag::large)) {
        out.body_size = p[1];
        out.header_size = short_header_size;
        return true;
    }
    if (available < long_header_size)
        return false;
    out.body_size = get_u64(p + 1);
    out.header_size = long_header_size;
    return true;
}

}  // namespace zlink
