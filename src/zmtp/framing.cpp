// The part that framings have in common: subscriptions as messages.
#include "zmtp/framing.hpp"

namespace zlink {

namespace {
// RFC 23 "messages": what a subscription is to a peer without the SUBSCRIBE command.
constexpr std::uint8_t subscribe_octet = 1;
constexpr std::uint8_t cancel_octet = 0;
}  // namespace

void framing::encode(std::uint8_t flags, byte_span body, std::vector<std::uint8_t> &out) const {
    if (const std::optional<mask_key> key = encode_header(flags, body.size(), out))
        append_masked(out, body, *key);
    else
        out.insert(out.end(), body.begin(), body.end());
}

void framing::encode_subscription(bool is_subscribe, byte_span topic, std::vector<std::uint8_t> &out) const {
    std::vector<std::uint8_t> body;
    body.reserve(1 + topic.size());
    body.push_back(is_subscribe ? subscribe_octet : cancel_octet);
    body.insert(body.end(), topic.begin(), topic.end());
    encode(0, body, out);
}

}  // namespace zlink
