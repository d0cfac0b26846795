// The layout of commands and properties.
#include "zmtp/command.hpp"

#include <algorithm>

#include "core/frame.hpp"
#include "core/invariant.hpp"

namespace zlink {

namespace {

constexpr bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_printable(char c) noexcept { return c > ' ' && c < 0x7f; }

bool comes_before(std::string_view a, std::string_view b) noexcept {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](char x, char y) { return lower(x) < lower(y); });
}

/// Takes a string with a length of one octet in front.
bool take_short_string(byte_cursor &from, std::string_view &out) noexcept {
    std::uint8_t size;
    byte_span octets;
    if (!from.take_u8(size) || !from.take(size, octets))
        return false;
    out = as_text(octets);
    return true;
}

void append(std::vector<std::uint8_t> &out, byte_span octets) {
    out.insert(out.end(), octets.begin(), octets.end());
}

void append_short_string(std::vector<std::uint8_t> &out, std::string_view text) {
    ZLINK_INVARIANT(text.size() <= 255);
    out.push_back(static_cast<std::uint8_t>(text.size()));
    append(out, as_bytes(text));
}

}  // namespace

bool parse_command(byte_span body, command &out) noexcept {
    // A server of PLAIN in libzmq writes ERROR so, up to 4.3.5. No other command can begin like
    // this and be so short.
    constexpr std::string_view misspelt_error = "^RROR";
    byte_cursor cursor(body);
    if (body.size() <= static_cast<std::size_t>(misspelt_error.front()) &&
        as_text(body).starts_with(misspelt_error)) {
        out = {command_name::error, body.subspan(misspelt_error.size())};
        return true;
    }
    if (!take_short_string(cursor, out.name) || out.name.empty())
        return false;
    if (!std::all_of(out.name.begin(), out.name.end(), is_letter))
        return false;
    out.data = cursor.rest();
    return true;
}

bool is_subscription_command(byte_span body) noexcept {
    command said;
    return parse_command(body, said) &&
           (said.name == command_name::subscribe || said.name == command_name::cancel);
}

bool parse_ping(byte_span data, ping_body &out) noexcept {
    byte_cursor cursor(data);
    if (!cursor.take_u16(out.ttl))
        return false;
    out.context = cursor.rest();
    return true;
}

bool parse_error(byte_span data, std::string_view &reason) noexcept {
    byte_cursor cursor(data);
    return take_short_string(cursor, reason) && cursor.remaining() == 0;
}

bool parse_properties(byte_span data, property_list &out) {
    out.clear();
    byte_cursor cursor(data);
    while (cursor.remaining() > 0) {
        std::string_view name;
        std::uint32_t size;
        byte_span value;
        if (!take_short_string(cursor, name) || name.empty() ||
            !std::all_of(name.begin(), name.end(), is_printable))
            return false;
        if (!cursor.take_u32(size) || size > INT32_MAX || !cursor.take(size, value))
            return false;
        out.emplace_back(name, value);
    }
    // Sorted, so that a list of thousands of names costs no more than sorting them.
    std::vector<std::string_view> names;
    names.reserve(out.size());
    for (const auto &property : out)
        names.push_back(property.first);
    std::sort(names.begin(), names.end(), comes_before);
    return std::adjacent_find(names.begin(), names.end(), is_same_name) == names.end();
}

void append_command(std::vector<std::uint8_t> &out, std::string_view name, byte_span data) {
    const std::size_t body_size = 1 + name.size() + data.size();
    std::uint8_t header[long_header_size];
    const std::uint8_t *header_end = put_frame_header(header, body_size, frame_flag::command);
    append(out, byte_span(header, header_end));
    append_short_string(out, name);
    append(out, data);
}

void append_ping(std::vector<std::uint8_t> &out, std::uint16_t ttl, std::uint32_t number) {
    std::uint8_t data[6];
    put_u16(data, ttl);
    put_u32(data + 2, number);
    append_command(out, command_name::ping, data);
}

void append_pong(std::vector<std::uint8_t> &out, byte_span context) {
    append_command(out, command_name::pong, context.first(std::min(context.size(), max_ping_context)));
}

void append_error(std::vector<std::uint8_t> &out, std::string_view reason) {
    std::vector<std::uint8_t> data;
    append_short_string(data, reason);
    append_command(out, command_name::error, data);
}

void append_property(std::vector<std::uint8_t> &out, std::string_view name, byte_span value) {
    append_short_string(out, name);
    std::uint8_t size[4];
    put_u32(size, static_cast<std::uint32_t>(value.size()));
    append(out, size);
    append(out, value);
}

}  // namespace zlink
