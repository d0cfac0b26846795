// Encodings of octets as text, both ways.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace command {

std::string to_hex(std::string_view octets);
std::string from_hex(std::string_view text);  // throws `failure`
std::string to_base64(std::string_view octets);
std::string from_base64(std::string_view text);

bool is_utf8(std::string_view octets);
bool is_printable(std::string_view octets);

/// With what is not printable as \n, \t, \xNN; and quotes and backslashes with a backslash in
/// front.
std::string escaped(std::string_view octets);
/// As `escaped`, but for a terminal: UTF-8, quotes and backslashes stay.
std::string safe_for_terminal(std::string_view octets);
/// Takes the escapes back.
std::string unescaped(std::string_view text);

std::string json_string(std::string_view utf8);

/// The elements of "parts" of an object of JSON, decoded as its "enc" says.
std::vector<std::string> parts_of_json(std::string_view line);

std::vector<std::string> split(std::string_view text, std::string_view separator);

}  // namespace command
