// Fuzz target: the request and the answer that a WebSocket begins with. Octets that are no text
// come to one verdict, the same in any pieces; and what is accepted has what it must have.
//
// Input:    kind:1 | changes: (place:1 | octet:1)*, to a good request or answer; or, by a bit of
//           the kind, the octets as they are.
#include <cstddef>
#include <cstdint>

#include <string>
#include <vector>

#include "core/invariant.hpp"
#include "zmtp/http_upgrade.hpp"

using namespace zlink;

namespace {

const std::string key = "dGhlIHNhbXBsZSBub25jZQ==";
const std::vector<std::string> protocols{"ZWS2.0/NULL", "ZWS2.0"};

std::string changed(std::string text, const std::uint8_t *data, std::size_t size) {
    for (; size >= 2; data += 2, size -= 2) {
        const std::size_t at = data[0] * text.size() / 256;
        switch (data[1] & 3) {
        case 0:
            text.erase(at, 1);
            break;
        case 1:
            text.insert(at, 1, static_cast<char>(data[1]));
            break;
        default:
            text[at] = static_cast<char>(data[1]);
        }
    }
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const bool is_answer = data[0] & 1;
    const std::size_t piece = 1 + (data[0] >> 3);
    std::string text = is_answer
                           ? make_answer(key, "ZWS2.0")
                           : make_request({"example.org", "/path"}, "http://example.org", key, protocols);
    text = data[0] & 2 ? std::string(data + 1, data + size) : changed(text, data + 1, size - 1);

    http_head whole, in_pieces;
    const std::size_t taken = whole.take(as_bytes(text));
    std::size_t taken_in_pieces = 0;
    for (std::size_t at = 0; at < text.size(); at += piece)
        taken_in_pieces += in_pieces.take(as_bytes(text).subspan(at, std::min(piece, text.size() - at)));
    ZLINK_INVARIANT(taken == taken_in_pieces && whole.status() == in_pieces.status());
    ZLINK_INVARIANT(whole.refusal() == in_pieces.refusal() && whole.text() == in_pieces.text());
    if (whole.status() != http_head::state::whole)
        return 0;
    ZLINK_INVARIANT(whole.text().ends_with("\r\n\r\n"));
    if (is_answer) {
        const auto judged = judge_answer(whole.text(), key, protocols);
        ZLINK_INVARIANT(!judged.is_good || judged.protocol == protocols[0] ||
                        judged.protocol == protocols[1]);
        return 0;
    }
    const auto judged = judge_request(whole.text(), "/path", "http://example.org", protocols);
    if (judged.status == http_status::switching_protocols) {
        ZLINK_INVARIANT(judged.key.size() == key.size());
        ZLINK_INVARIANT(judged.protocol == protocols[0] || judged.protocol == protocols[1]);
        ZLINK_INVARIANT(
            judge_answer(make_answer(judged.key, judged.protocol), judged.key, protocols).is_good);
    } else {
        ZLINK_INVARIANT(!judged.why.empty() && judged.key.empty());
    }
    return 0;
}
