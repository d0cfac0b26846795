// Names that do not tell upper case from lower case: of properties (RFC 23), of HTTP's fields and
// hosts; and texts without what stands around them. They are ASCII; the locale has no say.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace zlink {

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool is_same_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

constexpr std::string_view without_blanks(std::string_view text, std::string_view blanks = " \t") noexcept {
    const std::size_t from = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(from, text.find_last_not_of(blanks) + 1 - from);
}

}  // namespace zlink
