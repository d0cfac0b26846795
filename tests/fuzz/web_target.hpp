// Holds what the fuzz targets of ws and wss share: strangers that speak HTTP and WebSocket badly,
// or well and say badly what is inside.
//
// Input:    type:1 | piece:1 | octets. The piece says where the octets stand: in place of
//           everything; behind a good upgrade, with or without a mechanism; behind the handshake,
//           as they are or each few as a frame, of every opcode, some large, some in floods.
#pragma once

#include "socket_target.hpp"
#include "web_accept.hpp"
#include "web_peer.hpp"

namespace zlink::test {

/// first:1 | length:1 | payload.   The highest lengths stand for larger ones, the bit 0x40 of the
///                                 first octet for a flood.
inline std::string as_web_frames(std::string_view octets, bool is_masked) {
    std::string out;
    while (!octets.empty()) {
        const auto first = static_cast<std::uint8_t>(octets[0]);
        const std::size_t length = octets.size() > 1 ? static_cast<std::uint8_t>(octets[1]) : 0;
        octets.remove_prefix(std::min<std::size_t>(octets.size(), 2));
        std::string payload(octets.substr(0, length));
        octets.remove_prefix(payload.size());
        if (length >= 240)
            payload.append((length - 239) * 5000, 'x');
        std::string frame = web_frame(first & 0x0f, payload, is_masked);
        const bool is_flood = (first & 0x40) && payload.size() < 1000;
        frame[0] = static_cast<char>(is_flood ? first & ~0x40 : first);
        for (int i = is_flood ? 200 : 1; i > 0; --i)
            out += frame;
    }
    return out;
}

template <class Stranger>
std::string request_heard_by(Stranger &stranger) {
    std::string head;
    while (!head.ends_with("\r\n\r\n")) {
        const std::string octet = stranger.receive(1);
        if (octet.empty())
            break;
        head += octet;
    }
    return head;
}

template <class Stranger>
void say_over_web(const fuzzed_speech &speech, std::string_view type, Stranger &stranger, bool is_server) {
    const unsigned way = speech.piece() % 6;
    if (way == 0) {
        speech.say_to(stranger);
        return;
    }
    const bool has_mechanism = way % 2 == 1;
    const char *const protocol = has_mechanism ? "ZWS2.0/NULL" : "ZWS2.0";
    std::string start =
        is_server ? upgrade_answer(request_heard_by(stranger), protocol) : upgrade("/", protocol);
    if (way >= 3)
        start += has_mechanism ? web_ready(type, !is_server) : web_message("stranger", !is_server);
    if (stranger.send(start))
        speech.say_to(stranger,
                      way >= 4 ? as_web_frames(speech.octets(), !is_server) : std::string(speech.octets()));
}

}  // namespace zlink::test
