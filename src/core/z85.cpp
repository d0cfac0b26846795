// Z85 (RFC 32): four octets as five digits of base 85, most significant first.
#include "core/z85.hpp"

#include <array>
#include <limits>

namespace zlink {

namespace {

constexpr std::string_view alphabet =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
static_assert(alphabet.size() == 85);

constexpr std::uint8_t no_digit = 0xff;

constexpr std::array<std::uint8_t, 256> make_digits() noexcept {
    std::array<std::uint8_t, 256> digits{};
    digits.fill(no_digit);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        digits[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return digits;
}
constexpr auto digits = make_digits();

}  // namespace

bool z85_encode(byte_span data, char *out) noexcept {
    if (data.size() % 4 != 0)
        return false;
    for (std::size_t at = 0; at < data.size(); at += 4, out += 5) {
        std::uint32_t value = get_u32(data.data() + at);
        for (int i = 4; i >= 0; --i, value /= 85)
            out[i] = alphabet[value % 85];
    }
    return true;
}

bool z85_decode(std::string_view text, std::uint8_t *out) noexcept {
    if (text.size() % 5 != 0)
        return false;
    for (std::size_t at = 0; at < text.size(); at += 5, out += out ? 4 : 0) {
        std::uint64_t value = 0;
        for (char c : text.substr(at, 5)) {
            const std::uint8_t digit = digits[static_cast<std::uint8_t>(c)];
            if (digit == no_digit)
                return false;
            value = value * 85 + digit;
        }
        if (value > std::numeric_limits<std::uint32_t>::max())
            return false;
        if (out)
            put_u32(out, static_cast<std::uint32_t>(value));
    }
    return true;
}

}  // namespace zlink
