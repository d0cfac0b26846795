// One pass over the text that knows strings and comments, and counts brackets and dots; see
// toml_depth.hpp.
#include "policy/toml_depth.hpp"

#include <algorithm>

namespace zlink {

namespace {

constexpr int most_dots_in_line = 16;  // outside of strings
constexpr int most_brackets = 4;       // that are open at once

/// Behind the quotes that end a string and begin at `at`: one, or three, of which a long string may
/// have two more as its last octets.
std::size_t end_of_quotes(std::string_view text, std::size_t at, bool is_long) noexcept {
    const std::size_t most = at + (is_long ? 5 : 1);
    return std::min({text.find_first_not_of(text[at], at), most, text.size()});
}

/// The size of the string at the begin of a text, its quotes too. One that does not end in its
/// line, or in the text, is none, and nobody reads behind it.
std::size_t size_of_string(std::string_view text) noexcept {
    const char quote = text.front();
    const bool is_long = text.size() >= 3 && text[1] == quote && text[2] == quote;
    const std::size_t quotes = is_long ? 3 : 1;
    for (std::size_t at = quotes; at < text.size(); ++at) {
        if (text[at] == '\\' && quote == '"')
            ++at;
        else if (text[at] == '\n' && !is_long)
            return at;
        else if (text.compare(at, quotes, text.substr(0, quotes)) == 0)
            return end_of_quotes(text, at, is_long);
    }
    return text.size();
}

}  // namespace

int line_that_nests_too_deep(std::string_view text) noexcept {
    int line = 1, dots = 0, brackets = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '"' || c == '\'') {
            const std::string_view skipped = text.substr(at, size_of_string(text.substr(at)));
            line += static_cast<int>(std::count(skipped.begin(), skipped.end(), '\n'));
            at += skipped.size() - 1;
        } else if (c == '#') {
            at = std::min(text.find('\n', at), text.size()) - 1;
        } else if (c == '\n') {
            ++line;
            dots = 0;
        } else if (c == '[' || c == '{') {
            ++brackets;
        } else if (c == ']' || c == '}') {
            --brackets;
        } else if (c == '.') {
            ++dots;
        }
        if (dots > most_dots_in_line || brackets > most_brackets)
            return line;
    }
    return 0;
}

}  // namespace zlink
