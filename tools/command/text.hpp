// Encodings of octets as text, both ways.

#pragma once

#include <map>
#include <optional>
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
/// Does `escaped`, but for a terminal: UTF-8, quotes and backslashes stay.
std::string safe_for_terminal(std::string_view octets);
/// Takes the escapes back.
std::string unescaped(std::string_view text);

std::string json_string(std::string_view utf8);

/// The elements of "parts" of an object, decoded as its "enc" says, and its "id".
struct told_message {
    std::vector<std::string> parts;
    std::optional<std::string> id;
};
told_message message_of_json(std::string_view line);
/// The next value of an object, whose name was `key`, into `to`, or into `encoding`, which is
/// "enc". A reader of JSON has these functions, and one of MessagePack.
template <class Reader>
void take_value(Reader &from, const std::string &key, told_message &to, std::string &encoding) {
    if (key == "parts") {
        to.parts = from.texts();
    } else if (key == "enc") {
        encoding = from.text();
    } else if (key == "id") {
        to.id = from.text();
    } else {
        from.skip();
    }
}
/// Behind the last value: false where there are no parts.
bool decode_parts(told_message &of, std::string_view encoding);

/// An object of JSON: its values as text, and its lists of objects.
struct json_object {
    std::map<std::string, std::string> values;  // of strings without quotes and escapes
    std::map<std::string, std::vector<json_object>> lists;

    /// Empty, or 0, where it has none of that name.
    std::string text(const std::string &name) const;
    double number(const std::string &name) const;
};
/// Throws `failure`. What is deeper, or no object in a list, is passed over.
json_object object_of_json(std::string_view text);

std::vector<std::string> split(std::string_view text, std::string_view separator);

}  // namespace command
