// Octets of WebSocket and of HTTP, built independently of the code under test, and a conversation
// that begins with them.
#pragma once

#include "script.hpp"
#include "zmtp/http_upgrade.hpp"

namespace zlink::testing {

inline const web_place a_place{"example.org:8080", "/socket"};

/// A WebSocket frame. `mask`: four octets, or none.
inline octets web_frame(int first, std::string_view payload, std::string_view mask = {}) {
    octets out(1, static_cast<char>(first));
    const int masked = mask.empty() ? 0 : 0x80;
    const auto add = [&](std::uint64_t value, int size) {
        while (size-- > 0)
            out += static_cast<char>(value >> 8 * size);
    };
    if (payload.size() < 126) {
        add(masked | payload.size(), 1);
    } else if (payload.size() < 65536) {
        add(masked | 126, 1);
        add(payload.size(), 2);
    } else {
        add(masked | 127, 1);
        add(payload.size(), 8);
    }
    out += mask;
    for (std::size_t i = 0; i < payload.size(); ++i)
        out += mask.empty() ? payload[i] : static_cast<char>(payload[i] ^ mask[i % 4]);
    return out;
}

inline constexpr std::string_view a_mask = "\x12\x34\x56\x78";

inline octets with_flags(int flags, std::string_view body) {
    return octets(1, static_cast<char>(flags)).append(body);
}
/// A ZWS frame, as a server sends it, and as a client does.
inline octets zws(int flags, std::string_view body) { return web_frame(0x82, with_flags(flags, body)); }
inline octets masked_zws(int flags, std::string_view body) {
    return web_frame(0x82, with_flags(flags, body), a_mask);
}
/// The body of a READY command, and the whole.
inline octets ready_body(std::string_view type, std::string_view more_properties = {}) {
    return octets("\5READY") + property("Socket-Type", type) + octets(more_properties);
}

inline octets close_payload(int status, std::string_view reason = {}) {
    return octets{static_cast<char>(status >> 8), static_cast<char>(status)} + octets(reason);
}

/// Takes the masks off what a client wrote: the frames as a server would have written them. Ends at
/// what is no whole frame.
inline octets unmasked(std::string_view wire) {
    octets out;
    while (wire.size() >= 2) {
        std::size_t length = static_cast<std::uint8_t>(wire[1]) & 0x7f, header = 2;
        if (length >= 126) {
            header += length == 126 ? 2 : 8;
            length = 0;
            for (std::size_t i = 2; i < header; ++i)
                length = length << 8 | static_cast<std::uint8_t>(wire[i]);
        }
        EXPECT_TRUE(wire[1] & 0x80) << "a client's frame without a mask";
        if (!(wire[1] & 0x80) || wire.size() < header + 4 + length)
            break;
        octets payload(wire.substr(header + 4, length));
        for (std::size_t i = 0; i < length; ++i)
            payload[i] = static_cast<char>(payload[i] ^ wire[header + i % 4]);
        out += web_frame(static_cast<std::uint8_t>(wire[0]), payload);
        wire.remove_prefix(header + 4 + length);
    }
    EXPECT_EQ(wire, "") << "no whole frame";
    return out;
}

/// A request as RFC 6455 has it, section 1.3. Lines may be added, and whole ones replaced.
inline octets web_request(std::string_view protocols = "ZWS2.0/NULL,ZWS2.0",
                          std::string_view path = "/socket", std::string_view more = {}) {
    octets out = "GET ";
    out.append(path).append(
        " HTTP/1.1\r\nHost: example.org:8080\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n");
    if (!protocols.empty())
        out.append("Sec-WebSocket-Protocol: ").append(protocols).append("\r\n");
    return out.append(more).append("\r\n");
}
inline octets web_answer(std::string_view protocol = "ZWS2.0/NULL",
                         std::string_view accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") {
    octets out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                 "Upgrade\r\nSec-WebSocket-Accept: ";
    out.append(accept).append("\r\n");
    if (!protocol.empty())
        out.append("Sec-WebSocket-Protocol: ").append(protocol).append("\r\n");
    return out + "\r\n";
}

inline octets replaced(octets text, std::string_view what, std::string_view with) {
    const std::size_t at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return at == text.npos ? text : text.replace(at, what.size(), with);
}

inline const std::string websocket_fault = "close protocol 30000000";
inline const std::string ended = "close none 0";

/// A server behind the upgrade and the handshake, with nothing to be read of it.
class server_in_traffic : public peer_driver {
public:
    explicit server_in_traffic(const settings &options = socket_of(socket_type::pull),
                               std::string_view peer_type = "PUSH")
        : peer_driver(options, true, &a_place) {
        feed(web_request());
        feed(masked_zws(2, ready_body(peer_type)));
        EXPECT_EQ(log(), std::vector<std::string>{"established"});
        take_written();
    }
};

/// A client that has asked; its request, and the good answer to it.
class asking_client : public peer_driver {
public:
    explicit asking_client(const settings &options = socket_of(socket_type::pull),
                           const web_place &place = a_place, web_memory *memory = nullptr)
        : peer_driver(options, false, &place, memory), request(take_written()) {}

    octets key() const {
        const std::size_t at = request.find("Sec-WebSocket-Key: ");
        return at == request.npos ? "" : request.substr(at + 19, 24);
    }
    octets good_answer(std::string_view protocol = "ZWS2.0/NULL") const {
        return make_answer(key(), protocol);
    }

    const octets request;
};

class client_in_traffic : public asking_client {
public:
    explicit client_in_traffic(const settings &options = socket_of(socket_type::pull),
                               std::string_view peer_type = "PUSH")
        : asking_client(options) {
        feed(good_answer() + zws(2, ready_body(peer_type)));
        EXPECT_EQ(log(), std::vector<std::string>{"established"});
        take_written();
    }
};

}  // namespace zlink::testing
