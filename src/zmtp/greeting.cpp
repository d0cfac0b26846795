// The layout of the greeting, written and read.
#include "zmtp/greeting.hpp"

#include <algorithm>

#include "core/stranger.hpp"

namespace zlink {

namespace {

constexpr std::size_t signature_end = 9;
constexpr std::size_t major_offset = 10;
constexpr std::size_t mechanism_offset = 12;
constexpr std::size_t mechanism_size = 20;
constexpr std::size_t as_server_offset = 32;

void put_mechanism(std::uint8_t *out, std::string_view name) noexcept {
    std::memcpy(out, name.data(), std::min(name.size(), mechanism_size));
}

}  // namespace

greeting_octets make_greeting(std::string_view mechanism, bool as_server,
                              std::size_t routing_id_size) noexcept {
    greeting_octets octets{};
    octets[0] = 0xff;
    put_u64(octets.data() + 1, 1 + routing_id_size);  // a frame's flags, and the id behind them
    octets[signature_end] = 0x7f;
    octets[major_offset] = 3;
    octets[major_offset + 1] = 1;
    put_mechanism(octets.data() + mechanism_offset, mechanism);
    octets[as_server_offset] = as_server;
    return octets;
}

greeting_version detect_version(byte_span start) noexcept {
    if (start.empty())
        return greeting_version::undecided;
    if (start[0] != 0xff)
        return greeting_version::zmtp_1_0;
    if (start.size() <= signature_end)
        return greeting_version::undecided;
    if (start[signature_end] !=
        0x7f)  // an even octet here is the flags of a ZMTP 1.0 frame with a long length
        return start[signature_end] & 1 ? greeting_version::not_zmtp : greeting_version::zmtp_1_0;
    if (start.size() <= major_offset)
        return greeting_version::undecided;
    return start[major_offset] < 3 ? greeting_version::zmtp_2_0 : greeting_version::zmtp_3;
}

std::string_view describe_stranger(byte_span start) noexcept {
    switch (protocol_of(start)) {
    case spoken::http:
        return "the peer speaks HTTP, not ZMTP; for WebSocket there is ws://, inside TLS wss://";
    case spoken::tls:
        return "the peer speaks TLS, not ZMTP; for ZMTP inside TLS there is tls://";
    case spoken::ssh:
        return "the peer speaks SSH, not ZMTP";
    default:
        return "the peer's first octets are no greeting of ZMTP";
    }
}

bool greeting_view::has_mechanism(std::string_view name) const noexcept {
    std::array<std::uint8_t, mechanism_size> padded{};
    put_mechanism(padded.data(), name);
    return std::equal(padded.begin(), padded.end(), octets_.begin() + mechanism_offset);
}

}  // namespace zlink
