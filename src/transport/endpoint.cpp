#include "transport/endpoint.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstddef>
#include <netdb.h>
#include <sys/un.h>

namespace zlink {

namespace {

constexpr std::size_t max_host_size = 255;  // RFC 1035 §2.3.4

bool is_letter_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool parse_port(std::string_view text, std::uint16_t &out) noexcept {
    const char *end = text.data() + text.size();
    auto [rest, failure] = std::from_chars(text.data(), end, out);
    return failure == std::errc() && rest == end;
}

std::string_view without_brackets(std::string_view host) noexcept {
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        return host.substr(1, host.size() - 2);
    return host;
}

// The port stands behind the last colon: IPv6 addresses may come without brackets.
bool split_port(std::string_view address, std::string_view &host, std::string_view &port) noexcept {
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos)
        return false;
    host = address.substr(0, colon);
    port = address.substr(colon + 1);
    return !port.empty();
}

// A name, a numeric address, or a bracketed one with an interface behind "%".
bool is_plausible_host(std::string_view host) noexcept {
    if (host.size() > max_host_size)
        return false;
    if (!host.empty() && !is_letter_or_digit(host.front()) && host.front() != '[' && host.front() != ':')
        return false;
    return std::all_of(host.begin(), host.end(), [](char c) {
        return is_letter_or_digit(c) || std::string_view(".-_:%[]").find(c) != std::string_view::npos;
    });
}

// A source may come without a port. A colon inside an IPv6 address is not one before a port.
bool parse_source(std::string_view text, tcp_local_address &out) {
    if (text.empty())
        return false;
    const auto colon = text.rfind(':');
    const bool has_port = colon != std::string_view::npos &&
                          (text.find(']') != std::string_view::npos ? text[colon - (colon > 0)] == ']'
                                                                    : text.find(':') == colon);
    if (has_port)
        return !failed(parse_tcp_bind(text, out));
    out.host = without_brackets(text);
    out.port = 0;
    return true;
}

}  // namespace

error split_endpoint(std::string_view endpoint, std::string &scheme, std::string &address) {
    const auto mark = endpoint.find("://");
    if (mark == std::string_view::npos || mark == 0 || mark + 3 == endpoint.size())
        return error::invalid;
    scheme = endpoint.substr(0, mark);
    address = endpoint.substr(mark + 3);
    return error::none;
}

error parse_tcp_bind(std::string_view address, tcp_local_address &out) {
    std::string_view host, port;
    if (address.find(';') != std::string_view::npos || !split_port(address, host, port))
        return error::invalid;
    if (port == "*" || port == "0")
        out.port = 0;
    else if (!parse_port(port, out.port) || out.port == 0)
        return error::invalid;
    out.host = without_brackets(host);
    return error::none;
}

error parse_tcp_connect(std::string_view address, tcp_remote_address &out) {
    const auto semicolon = address.find(';');
    out.has_source = semicolon != std::string_view::npos;
    if (out.has_source) {
        if (!parse_source(address.substr(0, semicolon), out.source))
            return error::invalid;
        address.remove_prefix(semicolon + 1);
    }
    std::string_view host, port;
    if (!split_port(address, host, port) || !parse_port(port, out.port) || !is_plausible_host(host))
        return error::invalid;
    out.host = without_brackets(host);
    return error::none;
}

std::string print_host(const sockaddr *address, socklen_t length) {
    char host[NI_MAXHOST];
    if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        ::getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
        return {};
    return host;
}

std::string host_before_port(const std::string &host) {
    return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

static std::string print_ipc_endpoint(const sockaddr_un &address, socklen_t length) {
    constexpr std::size_t path_at = offsetof(sockaddr_un, sun_path);
    std::string path(address.sun_path, length > path_at ? length - path_at : 0);
    if (path.empty() || path[0] != '\0')
        return "ipc://" + path.substr(0, path.find('\0'));
    path[0] = '@';
    return "ipc://" + path;
}

std::string print_endpoint(const sockaddr *address, socklen_t length) {
    if (address->sa_family == AF_UNIX)
        return print_ipc_endpoint(*reinterpret_cast<const sockaddr_un *>(address), length);
    // The port stands at the same place in both families.
    const auto port = std::to_string(ntohs(reinterpret_cast<const sockaddr_in *>(address)->sin_port));
    return "tcp://" + host_before_port(print_host(address, length)) + ":" + port;
}

static std::string endpoint_of(int socket, int (*ask)(int, sockaddr *, socklen_t *)) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto *address = reinterpret_cast<sockaddr *>(&storage);
    return ask(socket, address, &length) == 0 ? print_endpoint(address, length) : std::string();
}

std::string local_endpoint_of(int socket) { return endpoint_of(socket, ::getsockname); }

std::string remote_endpoint_of(int socket) { return endpoint_of(socket, ::getpeername); }

}  // namespace zlink
