// Commands and property lists, parsed and written.
//
// Wire:     a command frame's body is   name-size:1 | name | data   (RFC 23/ZMTP 3.1, "Commands").
//           a property is   name-size:1 | name | value-size:4 | value.
// Limits:   parsing borrows the input and allocates nothing but the list that parse_properties
//           fills.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.hpp"
#include "core/names.hpp"

namespace zlink {

namespace command_name {
constexpr std::string_view ready = "READY";
constexpr std::string_view error = "ERROR";
constexpr std::string_view ping = "PING";
constexpr std::string_view pong = "PONG";
constexpr std::string_view subscribe = "SUBSCRIBE";
constexpr std::string_view cancel = "CANCEL";
constexpr std::string_view gap = "GAP";
constexpr std::string_view hello = "HELLO";
constexpr std::string_view welcome = "WELCOME";
constexpr std::string_view initiate = "INITIATE";
}  // namespace command_name

namespace property_name {
constexpr std::string_view socket_type = "Socket-Type";
constexpr std::string_view identity = "Identity";
constexpr std::string_view user_id = "User-Id";  // a verdict's
}  // namespace property_name

struct command {
    std::string_view name;
    byte_span data;
};

/// Splits the body of a command frame; false when the name is empty, too long for the body, or not
/// all letters.
bool parse_command(byte_span body, command &out) noexcept;

/// Whether the body of a command frame begins or ends a subscription.
bool is_subscription_command(byte_span body) noexcept;

struct ping_body {
    std::uint16_t ttl = 0;  // tenths of a second
    byte_span context;      // as sent; at most max_ping_context octets of it are echoed
};
constexpr std::size_t max_ping_context = 16;

/// False when the TTL is not all there.
bool parse_ping(byte_span data, ping_body &out) noexcept;
/// False when the reason's length does not match the data.
bool parse_error(byte_span data, std::string_view &reason) noexcept;

using property_list = std::vector<std::pair<std::string_view, byte_span>>;

/// Parses a property list to its last octet. False when a name is empty or holds octets that are
/// not printable, a length passes the end or 2^31-1, or a name occurs twice in whatever case; `out`
/// is then of no use.
bool parse_properties(byte_span data, property_list &out);

/// Appends a command frame, header included.
void append_command(std::vector<std::uint8_t> &out, std::string_view name, byte_span data);
/// The number is its context, which the PONG echoes.
void append_ping(std::vector<std::uint8_t> &out, std::uint16_t ttl, std::uint32_t number);
/// Echoes a PING's context, cut to what a PONG may hold.
void append_pong(std::vector<std::uint8_t> &out, byte_span context);
/// `reason` is at most 255 printable octets without spaces.
void append_error(std::vector<std::uint8_t> &out, std::string_view reason);
/// Appends a property to a list that becomes the data of a command.
void append_property(std::vector<std::uint8_t> &out, std::string_view name, byte_span value);

}  // namespace zlink
