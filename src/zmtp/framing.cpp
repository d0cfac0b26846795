// The part that framings have in common: bodies, commands and subscriptions.
#include "zmtp/framing.hpp"

#include "zmtp/command.hpp"

namespace zlink {

void framing::append_covered(body_cover how, byte_span body, std::vector<std::uint8_t> &out) const {
    const std::size_t at = out.size();
    out.resize(at + how.growth + body.size());
    cover(how, body, out.data() + at);
}

void framing::encode(std::uint8_t flags, byte_span body, std::vector<std::uint8_t> &out) const {
    if (const std::optional<body_cover> how = encode_header(flags, body.size(), out))
        append_covered(*how, body, out);
    else
        out.insert(out.end(), body.begin(), body.end());
}

void framing::encode_command(byte_span body, std::vector<std::uint8_t> &out) const {
    std::array<std::uint8_t, long_header_size> header;
    std::uint8_t *const end = put_frame_header(header.data(), body.size(), frame_flag::command);
    out.insert(out.end(), header.data(), end);
    out.insert(out.end(), body.begin(), body.end());
}

void framing::encode_subscription(bool is_subscribe, byte_span topic, std::vector<std::uint8_t> &out) const {
    const bool is_command = subscribes_by_command();
    const std::string_view name = is_subscribe ? command_name::subscribe : command_name::cancel;
    std::vector<std::uint8_t> body;
    body.reserve(1 + name.size() + topic.size());
    if (is_command) {
        body.push_back(static_cast<std::uint8_t>(name.size()));
        body.insert(body.end(), name.begin(), name.end());
    } else {
        body.push_back(is_subscribe ? subscribe_octet : cancel_octet);
    }
    body.insert(body.end(), topic.begin(), topic.end());
    if (is_command)
        encode_command(body, out);
    else
        encode(0, body, out);
}

}  // namespace zlink
