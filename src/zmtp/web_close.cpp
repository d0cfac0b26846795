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

}  // namespace zlink
