// Four letters for three octets, and the test of such a text; see base64.hpp.
#include "zmtp/base64.hpp"

namespace zlink {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(byte_span octets) {
    std::string out;
    out.reserve((octets.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < octets.size(); at += 3) {
        const byte_span group = octets.subspan(at, std::min<std::size_t>(3, octets.size() - at));
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 3; ++i)
            bits = bits << 8 | (i < group.size() ? group[i] : 0u);
        for (std::size_t i = 0; i < 4; ++i)
            out += i <= group.size() ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
    return out;
}

bool is_base64_of(std::string_view text, std::size_t octets) noexcept {
    if (text.size() != (octets + 2) / 3 * 4)
        return false;
    const std::size_t digits = (octets * 8 + 5) / 6;
    for (const char padding : text.substr(digits))
        if (padding != '=')
            return false;
    std::size_t last = 0;
    for (const char digit : text.substr(0, digits))
        if ((last = alphabet.find(digit)) == alphabet.npos)
            return false;
    const std::size_t unused_bits = digits * 6 - octets * 8;
    return (last & ((std::size_t{1} << unused_bits) - 1)) == 0;
}

}  // namespace zlink
