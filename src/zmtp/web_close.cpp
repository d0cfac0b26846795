// The status and the reason of a Close; see web_close.hpp. Map: UTF-8; which numbers may be sent;
// the judgement; words for people.
#include "zmtp/web_close.hpp"

#include "zmtp/web_frame.hpp"

namespace zlink {

bool is_utf8(byte_span text) noexcept {
    while (!text.empty()) {
        const std::uint8_t first = text[0];
        const std::size_t size = first < 0x80   ? 1
                                 : first < 0xc0 ? 0
                                 : first < 0xe0 ? 2
                                 : first < 0xf0 ? 3
                                                : 4;
        if (size == 0 || first > 0xf4 || size > text.size())
            return false;
        std::uint32_t point = size == 1 ? first : first & (0xffu >> (size + 1));
        for (std::size_t i = 1; i < size; ++i) {
            if ((text[i] & 0xc0) != 0x80)
                return false;
            point = point << 6 | (text[i] & 0x3f);
        }
        constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
        if (point < least[size] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
            return false;
        text = text.subspan(size);
    }
    return true;
}

bool may_be_sent(std::uint16_t status) noexcept {
    if (status >= 3000)
        return status < 5000;
    return (status >= 1000 && status <= 1003) || (status >= 1007 && status <= 1014);
}

std::uint16_t judge_close(byte_span payload) noexcept {
    if (payload.empty())
        return 0;
    if (payload.size() < 2 || !may_be_sent(get_u16(payload.data())))
        return web_status::protocol_error;
    return is_utf8(payload.subspan(2)) ? 0 : web_status::invalid_data;
}

namespace {

/// RFC 6455, section 7.4.1, and the register of IANA.
std::string_view name_of(std::uint16_t status) noexcept {
    switch (status) {
    case web_status::normal:
        return "done";
    case web_status::going_away:
        return "going away";
    case web_status::protocol_error:
        return "protocol error";
    case web_status::unacceptable_type:
        return "unacceptable type of data";
    case web_status::invalid_data:
        return "invalid data";
    case web_status::policy:
        return "policy violation";
    case web_status::too_big:
        return "message too big";
    case 1010:
        return "extension missing";
    case web_status::internal_error:
        return "internal error";
    case 1012:
        return "service restart";
    case 1013:
        return "try again later";
    case 1014:
        return "bad gateway";
    default:
        return {};
    }
}

/// UTF-8 without the control characters up to U+009F.
std::string shown(std::string_view text) {
    std::string out(text);
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto octet = static_cast<std::uint8_t>(out[i]);
        const bool is_c1 =
            octet == 0xc2 && i + 1 < out.size() && static_cast<std::uint8_t>(out[i + 1]) < 0xa0;
        if (is_c1)
            out.erase(i, 1);
        if (is_c1 || octet < ' ' || octet == 0x7f)
            out[i] = '?';
    }
    return out;
}

}  // namespace

std::string describe_close(byte_span payload) {
    if (payload.size() < 2)
        return "without a status";
    const std::uint16_t status = get_u16(payload.data());
    std::string out = "with " + std::to_string(status);
    if (const std::string_view name = name_of(status); !name.empty())
        out.append(" (").append(name).append(")");
    if (payload.size() > 2)
        out.append(": ").append(shown(as_text(payload.subspan(2))));
    return out;
}

bool is_leave(byte_span payload) noexcept {
    return payload.size() < 2 || get_u16(payload.data()) <= web_status::going_away;
}

}  // namespace zlink
