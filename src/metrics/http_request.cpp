// A request read line by line; see http_request.hpp. Map: the first line; a field; all of it;
// whether the host is one of ours.
#include "metrics/http_request.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

#include "core/names.hpp"

namespace zlink::metrics {

namespace {

constexpr std::string_view line_end = "\r\n";

bool read_request_line(std::string_view line, http_request &out) noexcept {
    const std::size_t first = line.find(' ');
    const std::size_t second = line.find(' ', first + 1);
    if (first == line.npos || second == line.npos || !line.substr(second + 1).starts_with("HTTP/1."))
        return false;
    out.method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, second - first - 1);
    out.path = target.substr(0, target.find('?'));
    return !out.method.empty() && out.path.starts_with('/');
}

/// A request with two Host fields is malformed (RFC 9112 §3.2).
bool read_field(std::string_view line, http_request &out) noexcept {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || colon == 0 || line.front() == ' ' || line.front() == '\t')
        return false;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = without_blanks(line.substr(colon + 1));
    if (is_same_name(name, "Host")) {
        if (!out.host.empty() || value.empty())
            return false;
        out.host = value;
    } else if (is_same_name(name, "Accept")) {
        out.accept = value;
    }
    return true;
}

}  // namespace

http_progress read(std::string_view octets, http_request &out) noexcept {
    out = {};
    const std::size_t end = octets.find("\r\n\r\n");
    if (end == octets.npos)
        return http_progress::incomplete;
    std::string_view rest = octets.substr(0, end + line_end.size());
    for (bool is_first = true; !rest.empty(); is_first = false) {
        const std::string_view line = rest.substr(0, rest.find(line_end));
        rest.remove_prefix(line.size() + line_end.size());
        if (!(is_first ? read_request_line(line, out) : read_field(line, out)))
            return http_progress::malformed;
    }
    return http_progress::complete;
}

bool is_asked_by_name(const http_request &request, std::span<const std::string> names) noexcept {
    std::string_view host = request.host;
    if (host.empty())
        return true;
    if (host.front() == '[')
        return host.find(']') != host.npos;  // no name has brackets
    host = host.substr(0, host.find(':'));
    if (is_same_name(host, "localhost"))
        return true;
    char literal[INET_ADDRSTRLEN] = {};
    in_addr ignored;
    if (host.size() < sizeof literal) {
        std::memcpy(literal, host.data(), host.size());
        if (::inet_pton(AF_INET, literal, &ignored) == 1)
            return true;
    }
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string &each) { return is_same_name(each, host); });
}

}  // namespace zlink::metrics
