// Values out of TOML, and what is wrong with them. For the files of a policy, which toml++ does not leave.
#pragma once

#define TOML_EXCEPTIONS        0
#define TOML_HEADER_ONLY       1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "policy/curve_certificate.hpp"
#include "policy/toml_depth.hpp"

namespace zlink::toml_text {

/// Thrown and caught below understands() only.
struct fault {
    int line;
    std::string words;
};

[[noreturn]] inline void fail(int line, std::string words) { throw fault{line, std::move(words)}; }

inline int line_of(const toml::node &value) noexcept { return static_cast<int>(value.source().begin.line); }

/// A key of a table, with its value.
struct item {
    std::string_view key;
    const toml::node &value;

    int line() const noexcept { return line_of(value); }
    [[noreturn]] void refuse(const std::string &expected) const {
        fail(line(), std::string(key) + " = " + expected + " is expected");
    }
};

// ---- values ----

inline std::string text_of(const item &from, const toml::node &value) {
    const auto *const text = value.as_string();
    if (!text || text->get().empty() || text->get().find('\0') != std::string::npos)
        from.refuse("a text that is not empty");
    return text->get();
}

inline std::string text_of(const item &from) { return text_of(from, from.value); }

inline bool switch_of(const item &from) {
    const auto *const value = from.value.as_boolean();
    if (!value)
        from.refuse("true or false");
    return value->get();
}

inline std::int64_t number_of(const item &from, const toml::node &value, std::int64_t least,
                              std::int64_t most) {
    const auto *const number = value.as_integer();
    if (!number || number->get() < least || number->get() > most)
        from.refuse("a number from " + std::to_string(least) + " to " + std::to_string(most));
    return number->get();
}

/// One value, or a list of them that is not empty.
template <class Read>
auto list_of(const item &from, Read read) {
    std::vector<decltype(read(from, from.value))> all;
    const toml::array *const list = from.value.as_array();
    if (!list)
        all.push_back(read(from, from.value));
    else if (list->empty())
        from.refuse("a list that is not empty");
    else
        for (const toml::node &each : *list)
            all.push_back(read(from, each));
    return all;
}

/// SHA-256 in 64 hexadecimal digits, with or without colons between the octets.
inline std::string fingerprint_of(const item &from, const toml::node &value) {
    std::string digits = text_of(from, value);
    std::erase(digits, ':');
    std::string octets(digits.size() / 2, '\0');
    bool is_good = digits.size() == 64;
    for (std::size_t i = 0; is_good && i < octets.size(); ++i) {
        unsigned octet = 0;
        const char *const at = digits.data() + 2 * i;
        const auto [rest, failure] = std::from_chars(at, at + 2, octet, 16);
        is_good = failure == std::errc() && rest == at + 2;
        octets[i] = static_cast<char>(octet);
    }
    if (!is_good)
        from.refuse("SHA-256 of a certificate in 64 hexadecimal digits");
    return octets;
}

/// The 32 octets of a key in Z85.
inline std::string curve_key_of(const item &from, const toml::node &value) {
    std::string key;
    if (!read_curve_key(text_of(from, value), key))
        from.refuse("a public key of 40 characters of Z85");
    return key;
}

/// Hands the table of a text to `read`, and turns faults into words.
template <class Read>
bool understands(const std::string &text, const std::string &path, std::string &why, Read read) {
    try {
        if (const int line = line_that_nests_too_deep(text); line > 0)
            fail(line, "it nests too deep");
        const toml::parse_result parsed = toml::parse(text);
        if (!parsed)
            fail(static_cast<int>(parsed.error().source().begin.line),
                 std::string(parsed.error().description()));
        read(parsed.table());
        return true;
    } catch (const fault &what) {
        why = path + ":" + std::to_string(what.line) + ": " + what.words;
        return false;
    }
}

}  // namespace zlink::toml_text
