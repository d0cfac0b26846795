// Text to addresses, and addresses to text; see endpoint.hpp. Map: octets and ports; hosts; the
// source of a connection; the forms of bind and connect; printing.
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

error refuse_because(std::string *why, std::string_view what, std::string_view part = {},
                     std::string_view rest = {}) {
    if (why)
        why->assign(what).append(part).append(rest);
    return error::invalid;
}

// The port stands behind the last colon: IPv6 addresses may come without brackets.
error split_port(std::string_view address, std::string_view &host, std::string_view &port, std::string *why) {
    const auto colon = address.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == address.size() || address.back() == ']')
        return refuse_because(why, "there is no port behind ",
                              address.substr(0, address.find_last_not_of(':') + 1));
    host = address.substr(0, colon);
    port = address.substr(colon + 1);
    return error::none;
}

error refuse_port(std::string_view port, std::string_view rest, std::string *why) {
    if (port.find('/') != std::string_view::npos)
        return refuse_because(why, "only ws:// and wss:// take a path: ", port);
    return refuse_because(why, "the port ", port, rest);
}

bool is_of_host(char c) noexcept {
    return is_letter_or_digit(c) || std::string_view(".-_:%[]").find(c) != std::string_view::npos;
}

// A name, a numeric address, or a bracketed one with an interface behind "%".
error check_host(std::string_view host, std::string *why) {
    if (host.size() > max_host_size)
        return refuse_because(why, "the host is longer than 255 octets");
    if (host == "*")
        return refuse_because(why, "* is no host to connect to");
    if (!std::all_of(host.begin(), host.end(), is_of_host))
        return refuse_because(why, "there are characters that no host has in ", host);
    if (!host.empty() && !is_letter_or_digit(host.front()) && host.front() != '[' && host.front() != ':')
        return refuse_because(why, "no host begins as ", host);
    return error::none;
}

// A source may come without a port. A colon inside an IPv6 address is not one before a port.
error parse_source(std::string_view text, tcp_local_address &out, std::string *why) {
    if (text.empty())
        return refuse_because(why, "there is no source in front of the semicolon");
    const auto colon = text.rfind(':');
    const bool has_port = colon != std::string_view::npos &&
                          (text.find(']') != std::string_view::npos ? text[colon - (colon > 0)] == ']'
                                                                    : text.find(':') == colon);
    if (has_port) {
        const error e = parse_tcp_bind(text, out, why);
        if (failed(e) && why)
            why->insert(0, "of the source, ");
        return e;
    }
    out.host = without_brackets(text);
    out.port = 0;
    return error::none;
}

}  // namespace

error split_endpoint(std::string_view endpoint, std::string &scheme, std::string &address, std::string *why) {
    const auto mark = endpoint.find("://");
    if (mark == std::string_view::npos || mark == 0)
        return refuse_because(why, "there is no scheme in front, such as tcp://");
    if (mark + 3 == endpoint.size())
        return refuse_because(why, "there is no address behind ", endpoint);
    scheme = endpoint.substr(0, mark);
    address = endpoint.substr(mark + 3);
    return error::none;
}

error parse_tcp_bind(std::string_view address, tcp_local_address &out, std::string *why) {
    std::string_view host, port;
    if (address.find(';') != std::string_view::npos)
        return refuse_because(why, "a source in front of a semicolon is for connecting: ", address);
    if (const error e = split_port(address, host, port, why); failed(e))
        return e;
    if (port == "*" || port == "0")
        out.port = 0;
    else if (!parse_port(port, out.port) || out.port == 0)
        return refuse_port(port, " is no number from 1 to 65535, nor * for any", why);
    out.host = without_brackets(host);
    return error::none;
}

error parse_tcp_connect(std::string_view address, tcp_remote_address &out, std::string *why) {
    const auto semicolon = address.find(';');
    out.has_source = semicolon != std::string_view::npos;
    if (out.has_source) {
        if (const error e = parse_source(address.substr(0, semicolon), out.source, why); failed(e))
            return e;
        address.remove_prefix(semicolon + 1);
    }
    std::string_view host, port;
    if (const error e = split_port(address, host, port, why); failed(e))
        return e;
    if (!parse_port(port, out.port))
        return refuse_port(port, " is no number up to 65535", why);
    if (const error e = check_host(host, why); failed(e))
        return e;
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
