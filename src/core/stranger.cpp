// The first octets by which protocols are known; see stranger.hpp.
#include "core/stranger.hpp"

#include <algorithm>

namespace zlink {

spoken protocol_of(byte_span start) noexcept {
    using namespace std::string_view_literals;
    struct beginning {
        std::string_view octets;
        spoken protocol;
    };
    // A greeting; requests, answers and HTTP/2; a handshake and an alert of TLS; SSH.
    static constexpr beginning known[] = {
        {"\xff\0"sv, spoken::zmtp}, {"GET ", spoken::http},    {"HEAD ", spoken::http},
        {"POST ", spoken::http},    {"PUT ", spoken::http},    {"DELETE ", spoken::http},
        {"OPTIONS ", spoken::http}, {"PATCH ", spoken::http},  {"CONNECT ", spoken::http},
        {"TRACE ", spoken::http},   {"HTTP/", spoken::http},   {"PRI * ", spoken::http},
        {"\x16\x03", spoken::tls},  {"\x15\x03", spoken::tls}, {"SSH-", spoken::ssh},
    };
    constexpr std::size_t least_octets = 2;
    if (start.size() >= least_octets)
        for (const auto &[octets, protocol] : known)
            if (const std::size_t size = std::min(octets.size(), start.size());
                as_text(start.first(size)) == octets.substr(0, size))
                return protocol;
    return spoken::unknown;
}

}  // namespace zlink
