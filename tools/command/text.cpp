#include "text.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>

namespace command {

namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int value_of_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// U+0080 to U+009F, which terminals obey, too.
bool is_c1(std::string_view octets, size_t at) {
    return at + 1 < octets.size() && static_cast<unsigned char>(octets[at]) == 0xc2 &&
           static_cast<unsigned char>(octets[at + 1]) >= 0x80 &&
           static_cast<unsigned char>(octets[at + 1]) < 0xa0;
}

/// The number of octets of the character of UTF-8 that begins here; 0 where none does.
size_t length_of_character(std::string_view octets, size_t at) {
    const auto first = static_cast<unsigned char>(octets[at]);
    if (first < 0x80) {
        return 1;
    }
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || at + length > octets.size()) {
        return 0;
    }
    std::uint32_t code = first & (0x7fU >> length);
    for (size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(octets[at + i]);
        if ((next & 0xc0U) != 0x80) {
            return 0;
        }
        code = code << 6 | (next & 0x3fU);
    }
    const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool is_none = code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    return is_overlong || is_none ? 0 : length;
}

void append_escape(std::string &to, char c) {
    switch (c) {
    case '\n':
        to += "\\n";
        break;
    case '\r':
        to += "\\r";
        break;
    case '\t':
        to += "\\t";
        break;
    default:
        to += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
}

void append_utf8(std::string &to, std::uint32_t code) {
    if (code < 0x80) {
        to += static_cast<char>(code);
        return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::array<unsigned, 4> marks{0, 0xc0, 0xe0, 0xf0};
    to += static_cast<char>(marks.at(static_cast<size_t>(more)) | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) {
        to += static_cast<char>(0x80U | ((code >> (6 * i)) & 0x3fU));
    }
}

/// Reads a value of JSON after another, as far as the messages of this command need it.
class json_reader {
public:
    explicit json_reader(std::string_view text) : text_(text) {}

    bool take(char c) {
        skip_space();
        if (at_ < text_.size() && text_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }

    void expect(char c) {
        if (!take(c)) {
            fail();
        }
    }

    std::string text() {
        expect('"');
        std::string read;
        while (at_ < text_.size() && text_[at_] != '"') {
            if (text_[at_] == '\\') {
                ++at_;
                append_escaped(read);
            } else {
                read += text_[at_++];
            }
        }
        expect('"');
        return read;
    }

    std::vector<std::string> texts() {
        std::vector<std::string> read;
        expect('[');
        if (take(']')) {
            return read;
        }
        do {
            read.push_back(text());
        } while (take(','));
        expect(']');
        return read;
    }

    /// Passes over a value of any kind, no deeper than arrays and objects may reasonably go.
    void skip(int depth = 0) {
        skip_space();
        if (at_ >= text_.size() || depth > 32) {
            fail();
        }
        if (text_[at_] == '"') {
            text();
        } else if (const char opening = text_[at_]; opening == '{' || opening == '[') {
            ++at_;
            const char closing = opening == '{' ? '}' : ']';
            if (!take(closing)) {
                do {
                    if (opening == '{') {
                        text();
                        expect(':');
                    }
                    skip(depth + 1);
                } while (take(','));
                expect(closing);
            }
        } else {
            const size_t end = text_.find_first_of(",]} \t\r\n", at_);
            at_ = end == std::string_view::npos ? text_.size() : end;
        }
    }

    json_object object(int depth = 0) {
        json_object read;
        expect('{');
        if (take('}')) {
            return read;
        }
        do {
            const std::string key = text();
            expect(':');
            if (depth < 2 && take('[')) {
                read.lists[key] = objects(depth + 1);
                continue;
            }
            const size_t begin = at_;
            if (is_next('"')) {
                read.values[key] = text();
            } else {
                skip();
                read.values[key] = std::string(text_.substr(begin, at_ - begin));
            }
        } while (take(','));
        expect('}');
        return read;
    }

    [[noreturn]] static void fail() {
        throw failure(status::usage, R"(the input is no line of JSON such as {"parts":["a","b"]})");
    }

private:
    bool is_next(char c) {
        skip_space();
        return at_ < text_.size() && text_[at_] == c;
    }

    /// Behind the bracket that opens them.
    std::vector<json_object> objects(int depth) {
        std::vector<json_object> read;
        if (take(']')) {
            return read;
        }
        do {
            if (is_next('{')) {
                read.push_back(object(depth));
            } else {
                skip();
            }
        } while (take(','));
        expect(']');
        return read;
    }

    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
            ++at_;
        }
    }

    std::uint32_t four_digits() {
        if (at_ + 4 > text_.size()) {
            fail();
        }
        std::uint32_t code = 0;
        for (int i = 0; i < 4; ++i) {
            const int digit = value_of_digit(text_[at_++]);
            if (digit < 0) {
                fail();
            }
            code = code << 4 | static_cast<std::uint32_t>(digit);
        }
        return code;
    }

    void append_escaped(std::string &to) {
        if (at_ >= text_.size()) {
            fail();
        }
        switch (const char c = text_[at_++]) {
        case 'n':
            to += '\n';
            break;
        case 't':
            to += '\t';
            break;
        case 'r':
            to += '\r';
            break;
        case 'b':
            to += '\b';
            break;
        case 'f':
            to += '\f';
            break;
        case 'u': {
            std::uint32_t code = four_digits();
            if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
                at_ += 2;
                code = 0x10000 + ((code - 0xd800) << 10) + (four_digits() - 0xdc00);
            }
            append_utf8(to, code);
            break;
        }
        default:
            to += c;
        }
    }

    std::string_view text_;
    size_t at_ = 0;
};

}  // namespace

std::string to_hex(std::string_view octets) {
    std::string text;
    for (const char c : octets) {
        text += digits[static_cast<unsigned char>(c) >> 4];
        text += digits[static_cast<unsigned char>(c) & 0xfU];
    }
    return text;
}

std::string from_hex(std::string_view text) {
    std::string octets;
    for (size_t i = 0; i < text.size(); i += 2) {
        const int high = value_of_digit(text[i]),
                  low = i + 1 < text.size() ? value_of_digit(text[i + 1]) : -1;
        if (high < 0 || low < 0) {
            throw failure(status::usage, fmt::format("{} is not hexadecimal", text));
        }
        octets += static_cast<char>(high << 4 | low);
    }
    return octets;
}

std::string to_base64(std::string_view octets) {
    std::string text;
    for (size_t i = 0; i < octets.size(); i += 3) {
        std::uint32_t group = 0;
        for (size_t j = 0; j < 3; ++j) {
            group = group << 8 | (i + j < octets.size() ? static_cast<unsigned char>(octets[i + j]) : 0U);
        }
        for (size_t j = 0; j < 4; ++j) {
            text += i + j > octets.size() ? '=' : base64_digits[(group >> (18 - 6 * j)) & 0x3fU];
        }
    }
    return text;
}

std::string from_base64(std::string_view text) {
    std::string octets;
    std::uint32_t group = 0;
    int bits = 0;
    for (const char c : text) {
        if (c == '=') {
            break;
        }
        const size_t digit = base64_digits.find(c);
        if (digit == std::string_view::npos) {
            throw failure(status::usage, fmt::format("{} is not base64", text));
        }
        group = group << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            octets += static_cast<char>(group >> bits & 0xffU);
        }
    }
    return octets;
}

bool is_utf8(std::string_view octets) {
    for (size_t i = 0; i < octets.size();) {
        const size_t length = length_of_character(octets, i);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

bool is_printable(std::string_view octets) {
    for (size_t i = 0; i < octets.size(); ++i) {
        if (is_control(octets[i]) || is_c1(octets, i)) {
            return false;
        }
    }
    return is_utf8(octets);
}

std::string escaped(std::string_view octets) {
    std::string text;
    for (const char c : octets) {
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (is_control(c) || static_cast<unsigned char>(c) >= 0x80) {
            append_escape(text, c);
        } else {
            text += c;
        }
    }
    return text;
}

std::string safe_for_terminal(std::string_view octets) {
    std::string text;
    for (size_t i = 0; i < octets.size();) {
        const size_t length = length_of_character(octets, i);
        if (length == 0 || is_c1(octets, i) || (is_control(octets[i]) && octets[i] != '\t')) {
            append_escape(text, octets[i++]);
        } else {
            text += octets.substr(i, length);
            i += length;
        }
    }
    return text;
}

std::string unescaped(std::string_view text) {
    std::string octets;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            octets += text[i];
            continue;
        }
        switch (const char c = text[++i]) {
        case 'n':
            octets += '\n';
            break;
        case 'r':
            octets += '\r';
            break;
        case 't':
            octets += '\t';
            break;
        case '0':
            octets += '\0';
            break;
        case 'x':
            octets += from_hex(text.substr(i + 1, 2));
            i += 2;
            break;
        default:
            octets += c;
        }
    }
    return octets;
}

std::string json_string(std::string_view utf8) {
    std::string text = "\"";
    for (size_t i = 0; i < utf8.size(); ++i) {
        const char c = utf8[i];
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (is_c1(utf8, i)) {
            text += fmt::format("\\u{:04x}", static_cast<unsigned char>(utf8[++i]));
        } else if (c == '\n') {
            text += "\\n";
        } else if (c == '\t') {
            text += "\\t";
        } else if (is_control(c)) {
            text += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
            text += c;
        }
    }
    return text + '"';
}

bool decode_parts(told_message &of, std::string_view encoding) {
    if (encoding == "base64") {
        for (std::string &part : of.parts) {
            part = from_base64(part);
        }
    }
    return !of.parts.empty();
}

told_message message_of_json(std::string_view line) {
    json_reader reader(line);
    told_message found;
    std::string encoding;
    reader.expect('{');
    if (!reader.take('}')) {
        do {
            const std::string key = reader.text();
            reader.expect(':');
            take_value(reader, key, found, encoding);
        } while (reader.take(','));
        reader.expect('}');
    }
    if (!decode_parts(found, encoding)) {
        json_reader::fail();
    }
    return found;
}

std::string json_object::text(const std::string &name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
}

double json_object::number(const std::string &name) const {
    const std::string value_text = text(name);
    double value = 0;
    std::from_chars(value_text.data(), value_text.data() + value_text.size(), value);
    return value;
}

json_object object_of_json(std::string_view text) { return json_reader(text).object(); }

std::vector<std::string> split(std::string_view text, std::string_view separator) {
    std::vector<std::string> pieces;
    size_t begin = 0;
    for (size_t end = text.find(separator); end != std::string_view::npos;
         end = text.find(separator, begin)) {
        pieces.emplace_back(text.substr(begin, end - begin));
        begin = end + separator.size();
    }
    pieces.emplace_back(text.substr(begin));
    return pieces;
}

}  // namespace command
