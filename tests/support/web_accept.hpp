// The answer of a WebSocket server to a request, made independently of the code under test: SHA-1
// (RFC 3174) in base64.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zlink::test {

inline std::string sha1_of(std::string message) {
    const std::uint64_t bits = message.size() * 8;
    message += '\x80';
    message.append((120 - message.size() % 64) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        message += static_cast<char>(bits >> shift);
    std::array<std::uint32_t, 5> h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t at = 0; at < message.size(); at += 64) {
        std::uint32_t w[80];
        for (std::size_t i = 0; i < 16; ++i) {
            w[i] = 0;
            for (std::size_t j = 0; j < 4; ++j)
                w[i] = w[i] << 8 | static_cast<std::uint8_t>(message[at + 4 * i + j]);
        }
        for (int i = 16; i < 80; ++i)
            w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        auto [a, b, c, d, e] = h;
        for (int i = 0; i < 80; ++i) {
            const std::uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                                        : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                                        : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                                                 : (b ^ c ^ d) + 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + mixed + e + w[i];
            e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
        }
        h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
    }
    std::string out;
    for (const std::uint32_t word : h)
        for (int shift = 24; shift >= 0; shift -= 8)
            out += static_cast<char>(word >> shift);
    return out;
}

inline std::string base64_of(std::string_view octets) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t at = 0; at < octets.size(); at += 3) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8 | (at + i < octets.size() ? static_cast<std::uint8_t>(octets[at + i]) : 0);
        for (std::size_t i = 0; i < 4; ++i)
            out += i > octets.size() - at ? '=' : digits[group >> (18 - 6 * i) & 63];
    }
    return out;
}

/// A good answer to a client's request.
inline std::string upgrade_answer(std::string_view request, std::string_view protocol = "ZWS2.0/NULL") {
    const std::string_view name = "Sec-WebSocket-Key: ";
    const std::size_t at = request.find(name);
    const std::string_view key = at == request.npos ? "" : request.substr(at + name.size(), 24);
    std::string out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
    out.append("Sec-WebSocket-Accept: ")
        .append(base64_of(sha1_of(std::string(key).append("258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))));
    if (!protocol.empty())
        out.append("\r\nSec-WebSocket-Protocol: ").append(protocol);
    return out.append("\r\n\r\n");
}

}  // namespace zlink::test
