// The words of WebSocket's frames, for whatever writes, reads or answers them: RFC 6455, RFC 45/ZWS
// 2.0.
#pragma once

#include <cstdint>

#include "core/bytes.hpp"
#include "zmtp/frame_walk.hpp"

namespace zlink {

/// The first two octets of a header: RFC 6455, section 5.2.
namespace web_header {
constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t opcode_bits = 0x0f;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::uint8_t length_16 = 126;
constexpr std::uint8_t length_64 = 127;
constexpr std::size_t shortest = 2;
}  // namespace web_header

/// RFC 6455, section 11.8.
namespace web_opcode {
constexpr std::uint8_t continuation = 0x0;
constexpr std::uint8_t text = 0x1;
constexpr std::uint8_t binary = 0x2;
constexpr std::uint8_t close = 0x8;
constexpr std::uint8_t ping = 0x9;
constexpr std::uint8_t pong = 0xa;
}  // namespace web_opcode

/// Status of a Close frame: RFC 6455, section 7.4.1.
namespace web_status {
constexpr std::uint16_t normal = 1000;
constexpr std::uint16_t going_away = 1001;
constexpr std::uint16_t protocol_error = 1002;
constexpr std::uint16_t unacceptable_type = 1003;
constexpr std::uint16_t invalid_data = 1007;
constexpr std::uint16_t policy = 1008;
constexpr std::uint16_t too_big = 1009;
constexpr std::uint16_t internal_error = 1011;
}  // namespace web_status

constexpr std::size_t max_control_payload = 125;

/// The octets of a Ping of this side's: a number, which its Pong brings back.
constexpr std::size_t ping_number_size = 4;

/// The meaning of the octet behind the zero octet that a command frame begins with.
namespace web_event {
constexpr std::uint8_t fault = 0;                  // two octets: the status to close with
constexpr std::uint8_t close = web_opcode::close;  // its payload
constexpr std::uint8_t ping = web_opcode::ping;    // its payload
constexpr std::uint8_t pong = web_opcode::pong;    // its payload, the number of a Ping
/// Whether the body tells of an event and what belongs to it; else it is that of a command.
inline bool is_one(byte_span body) noexcept { return body.size() >= 2 && body[0] == 0; }
}  // namespace web_event

/// The meaning of the octet in front of a body: RFC 45/ZWS 2.0.
namespace zws_octet {
constexpr std::uint8_t last = 0;  // frame of a message
constexpr std::uint8_t more = 1;  // frames of the same message follow
constexpr std::uint8_t command = 2;
}  // namespace zws_octet

/// The state of one side of a connection.
struct zws_form {
    bool is_client = false;  // masks, and takes what is not masked
    bool is_raw = false;     // no octet in front of a body
    std::uint64_t max_body = UINT64_MAX;
    std::uint64_t max_command = max_command_size;
};

}  // namespace zlink
