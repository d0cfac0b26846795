// ZPL read line by line, as far as keys need; see curve_certificate.hpp. Map: a value; the lines;
// whether two keys are a pair; the two forms.
#include "policy/curve_certificate.hpp"

#include <algorithm>

#include "core/built.hpp"
#include "core/curve_secret_key.hpp"
#include "core/names.hpp"
#include "core/z85.hpp"

namespace zlink {

namespace {

constexpr std::size_t key_size = curve_secret_key::octets;
constexpr std::string_view blanks = " \t\r";

/// The text in quotes; or all, where there are none. False where there is something else behind the
/// second quote than a comment.
bool read_value(std::string_view text, std::string_view &out) noexcept {
    out = text;
    if (text.empty() || (text.front() != '"' && text.front() != '\''))
        return true;
    const std::size_t end = text.find(text.front(), 1);
    if (end == std::string_view::npos)
        return false;
    out = text.substr(1, end - 1);
    const std::string_view rest = without_blanks(text.substr(end + 1), blanks);
    return rest.empty() || rest.front() == '#';
}

/// Goes through the lines. Each step says what is wrong, or nothing.
class reader {
public:
    explicit reader(curve_certificate &out) noexcept : out_(out) {}

    const char *read(std::string_view line) {
        const std::string_view words = without_blanks(line, blanks);
        if (words.empty() || words.front() == '#')
            return nullptr;
        if (blanks.find(line.front()) == std::string_view::npos)
            return begin_section(words);
        return section_ == section::curve  ? read_key(words)
               : section_ == section::none ? no_section
                                           : nullptr;
    }

private:
    enum class section { none, metadata, curve };
    static constexpr const char *no_section =
        "a section is expected, metadata or curve, at the begin of a line";

    const char *begin_section(std::string_view name) noexcept {
        section_ = name == "metadata" ? section::metadata : name == "curve" ? section::curve : section::none;
        return section_ == section::none ? no_section : nullptr;
    }

    const char *read_key(std::string_view words) {
        const std::size_t equals = std::min(words.find('='), words.size());
        const std::string_view name = without_blanks(words.substr(0, equals), blanks);
        const bool is_secret = name == "secret-key";
        if (!is_secret && name != "public-key")
            return "public-key or secret-key is expected";
        if (is_secret ? !out_.secret_key.empty() : !out_.public_key.empty())
            return "this key stands there twice";
        std::string_view value;
        return read_value(without_blanks(words.substr(std::min(equals + 1, words.size())), blanks), value) &&
                       (is_secret ? read_secret(value) : read_curve_key(value, out_.public_key))
                   ? nullptr
                   : "a key of 40 characters of Z85 is expected";
    }

    bool read_secret(std::string_view text) {
        curve_secret_key read;
        if (text.size() != z85_text_size(key_size) || !z85_decode(text, read.data()))
            return false;
        out_.secret_key = as_text(read);
        return true;
    }

    curve_certificate &out_;
    section section_ = section::none;
};

bool is_pair(const curve_certificate &both) noexcept {
    return curve_is_built && as_text(both.secret_key.public_half()) == both.public_key;
}

}  // namespace

bool read_curve_key(std::string_view text, std::string &out) {
    if (text.size() != z85_text_size(key_size) || !z85_decode(text, nullptr))
        return false;
    out.resize(key_size);
    return z85_decode(text, reinterpret_cast<std::uint8_t *>(out.data()));
}

bool read_curve_certificate(const std::string &text, const std::string &path, curve_certificate &out,
                            std::string &why) {
    const auto refuse = [&](int line, const char *words) {
        why = path + ":" + std::to_string(line) + ": " + words;
        return false;
    };
    out = {};
    reader lines(out);
    int line = 0;
    for (std::size_t from = 0, end; from < text.size(); from = end + 1) {
        end = std::min(text.find('\n', from), text.size());
        ++line;
        if (const char *const fault = lines.read(std::string_view(text).substr(from, end - from)))
            return refuse(line, fault);
    }
    if (out.public_key.empty())
        return refuse(std::max(line, 1), "it holds no public-key in a section curve");
    return out.secret_key.empty() || is_pair(out) ||
           refuse(line, "its public-key is not that of its secret-key");
}

}  // namespace zlink
