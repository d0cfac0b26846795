// Fuzz target: endpoints as text. What is taken apart is made of the input, and means the same when
// it is put together again.
//
// Input:    each octet is a word of the table below, or itself.
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "core/invariant.hpp"
#include "transport/endpoint.hpp"
#include "transport/transport.hpp"
#include "zmtp/http_upgrade.hpp"

using namespace zlink;

namespace {

constexpr const char *words[] = {
    "tcp://",    "ipc://",    "inproc://", "://",
    ":",         ";",         "*",         "[",
    "]",         "::1",       "::",        "127.0.0.1",
    "localhost", "lo",        "%",         "0",
    "5555",      "65535",     "65536",     "-1",
    "+1",        " ",         "@",         "/tmp/",
    "a.b-c",     "0.0.0.0",   ":*",        ":5555",
    "[::1]",     "256.1.1.1", "name_x",    "999999999999999999999",
    "ws://",     "wss://",    "/",         "/path",
    "?a=b",      "#",         "//",        "/..",
    "%20",       ",",         "%lo",       "eth0;",
};

std::string spelled_out(const std::uint8_t *data, std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i)
        if (data[i] % 64 < std::size(words))
            out += words[data[i] % 64];
        else
            out += static_cast<char>(data[i]);
    return out;
}

// Brackets in brackets, or nothing but signs in them, are for the resolver to refuse. A long host
// has no space for more.
bool is_ordinary(const std::string &host) {
    return host.size() < 250 && host.find_first_of("[]") == std::string::npos &&
           (host.empty() || host[0] == ':' || std::isalnum(static_cast<unsigned char>(host[0])));
}

std::string bracketed(const std::string &host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

void check_bind(const std::string &address) {
    tcp_local_address parsed;
    if (failed(parse_tcp_bind(address, parsed)))
        return;
    ZLINK_INVARIANT(address.find(parsed.host) != std::string::npos);
    if (!is_ordinary(parsed.host))
        return;
    tcp_local_address again;
    ZLINK_INVARIANT(
        !failed(parse_tcp_bind(bracketed(parsed.host) + ":" + std::to_string(parsed.port), again)));
    ZLINK_INVARIANT(again.host == parsed.host && again.port == parsed.port);
}

void check_connect(const std::string &address) {
    tcp_remote_address parsed;
    if (failed(parse_tcp_connect(address, parsed)))
        return;
    ZLINK_INVARIANT(address.find(parsed.host) != std::string::npos);
    ZLINK_INVARIANT(parsed.has_source == (address.find(';') != std::string::npos));
    if (!is_ordinary(parsed.host))
        return;
    tcp_remote_address again;
    ZLINK_INVARIANT(
        !failed(parse_tcp_connect(bracketed(parsed.host) + ":" + std::to_string(parsed.port), again)));
    ZLINK_INVARIANT(again.host == parsed.host && again.port == parsed.port && !again.has_source);
}

// Checks what follows "ws://": an address of tcp, and what a request names. That of wss is the
// same; asked whether it can be connected to it would read certificates.
void check_web(const transport &kind, const std::string &address) {
    static const settings options;
    const std::string endpoint = kind.endpoint_for(address);
    if (failed(ws().check_connect(address, options)))
        return;
    std::string scheme, again;
    ZLINK_INVARIANT(!failed(split_endpoint(endpoint, scheme, again)) && scheme == kind.scheme());
    ZLINK_INVARIANT(!failed(ws().check_connect(again, options)) && kind.endpoint_for(again) == endpoint);
    const auto place = kind.place_of(address);
    ZLINK_INVARIANT(place && place == kind.place_of(again) && is_sound(*place, ""));
    ZLINK_INVARIANT(endpoint.ends_with(place->path));
    const std::string request = make_request(*place, "", make_web_key(), {});
    ZLINK_INVARIANT(judge_request(request, place->path, "", {}).status == http_status::switching_protocols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    const std::string text = spelled_out(data, size);
    std::string scheme, address;
    if (!failed(split_endpoint(text, scheme, address)))
        ZLINK_INVARIANT(!scheme.empty() && !address.empty() && scheme + "://" + address == text);
    check_bind(text);
    check_connect(text);
    check_bind(address);
    check_connect(address);
    for (const char *name : {"ws", "wss"})
        if (const transport *const kind = find_transport(name)) {
            check_web(*kind, text);
            check_web(*kind, address);
        }
    return 0;
}
