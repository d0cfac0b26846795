// A peer made of a bare socket that speaks WebSocket, right or wrong: the octets of requests and
// frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "raw_peer.hpp"

namespace zlink::test {

namespace opcode {
constexpr std::uint8_t continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10;
constexpr std::uint8_t none = 0xff;
}  // namespace opcode

/// A request that a server grants.
inline std::string upgrade(std::string_view path = "/", std::string_view protocol = "ZWS2.0/NULL",
                           std::string_view more = "") {
    std::string out = "GET ";
    out.append(path).append(" HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n");
    if (!protocol.empty())
        out.append("Sec-WebSocket-Protocol: ").append(protocol).append("\r\n");
    return out.append(more).append("\r\n");
}

inline std::string web_header(std::uint8_t opcode, std::uint64_t length, bool is_masked,
                              bool is_last = true) {
    std::string out(1, static_cast<char>(opcode | (is_last ? 0x80 : 0)));
    const int mask = is_masked ? 0x80 : 0;
    const int octets = length < 126 ? 0 : length < 65536 ? 2 : 8;
    out += static_cast<char>(mask | (octets == 0 ? static_cast<int>(length) : octets == 2 ? 126 : 127));
    for (int shift = 8 * octets - 8; shift >= 0; shift -= 8)
        out += static_cast<char>(length >> shift);
    return out;
}
/// This is as a client sends it, or a server.
inline std::string web_frame(std::uint8_t opcode, std::string_view payload, bool is_masked = true,
                             bool is_last = true) {
    std::string out = web_header(opcode, payload.size(), is_masked, is_last);
    if (!is_masked)
        return out.append(payload);
    out += "k3y!";
    const std::size_t header = out.size();
    char *const masked = out.append(payload).data() + header;
    for (std::size_t i = 0; i < payload.size(); ++i)
        masked[i] ^= "k3y!"[i % 4];
    return out;
}
inline std::string web_message(std::string_view body, bool is_masked = true) {
    return web_frame(opcode::binary, std::string(1, '\0').append(body), is_masked);
}
inline std::string web_ready(std::string_view type, bool is_masked = true) {
    return web_frame(opcode::binary,
                     std::string(1, '\2').append("\5READY").append(property("Socket-Type", type)), is_masked);
}
inline std::string web_close(int status, bool is_masked = true) {
    const char octets[] = {static_cast<char>(status >> 8), static_cast<char>(status)};
    return web_frame(opcode::close, {octets, sizeof octets}, is_masked);
}

class web_peer : public raw_peer {
public:
    using raw_peer::raw_peer;
    explicit web_peer(raw_peer &&other) : raw_peer(std::move(other)) {}

    /// Up to the empty line.
    std::string receive_head() {
        std::string head;
        while (!head.ends_with("\r\n\r\n")) {
            const std::string octet = receive(1);
            if (octet.empty())
                break;
            head += octet;
        }
        return head;
    }
    /// Opcode and payload of the next frame; opcode::none when there is none.
    std::pair<std::uint8_t, std::string> receive_web_frame() {
        const std::string start = receive(2);
        if (start.size() < 2)
            return {opcode::none, {}};
        const auto second = static_cast<std::uint8_t>(start[1]);
        std::uint64_t length = second & 0x7f;
        if (const int octets = length == 126 ? 2 : length == 127 ? 8 : 0; octets > 0) {
            length = 0;
            for (const char octet : receive(octets))
                length = length << 8 | static_cast<std::uint8_t>(octet);
        }
        const std::string key = second & 0x80 ? receive(4) : std::string(4, '\0');
        std::string payload = receive(length);
        for (std::size_t i = 0; i < payload.size(); ++i)
            payload[i] = static_cast<char>(payload[i] ^ key[i % 4]);
        return {static_cast<std::uint8_t>(start[0] & 0x0f), payload};
    }
    /// The body of the next message; "<opcode>" of another frame.
    std::string receive_web_message() {
        const auto [kind, payload] = receive_web_frame();
        if (kind != opcode::binary || payload.empty())
            return "<" + std::to_string(kind) + ">";
        return payload.substr(1);
    }
    /// The status of the Close frame that comes next, after messages and what else there is; 0 when
    /// none comes.
    int receive_close() {
        for (;;) {
            const auto [kind, payload] = receive_web_frame();
            if (kind == opcode::none)
                return 0;
            if (kind == opcode::close)
                return payload.size() < 2 ? -1
                                          : static_cast<std::uint8_t>(payload[0]) << 8 |
                                                static_cast<std::uint8_t>(payload[1]);
        }
    }
    /// This is as a client, up to traffic.
    bool call(std::string_view type, std::string_view path = "/") {
        return send(upgrade(path)) && receive_head().starts_with("HTTP/1.1 101 ") && send(web_ready(type)) &&
               receive_web_frame().second.substr(0, 7) == std::string("\2\5READY");
    }
};

}  // namespace zlink::test
