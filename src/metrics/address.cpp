// ZLINK_METRICS taken apart; see address.hpp. Map: ports and hosts; the query; tcp; the three
// forms.
#include "metrics/address.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <sys/un.h>

namespace zlink::metrics {

namespace {

constexpr std::string_view tcp = "tcp://";
constexpr std::string_view unix_scheme = "unix:";
constexpr std::string_view file = "file:";
/// The name that is bound at first, before it is renamed, is longer by this much.
constexpr std::size_t room_for_temporary_name = 16;

std::string with_process(std::string_view text, int process) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text.substr(i, 2) == "%p") {
            result += std::to_string(process);
            ++i;
        } else {
            result += text[i];
        }
    }
    return result;
}

bool read_port(std::string_view text, std::uint16_t &out) noexcept {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    return failure == std::errc() && end == text.data() + text.size() && out != 0;
}

bool read_ports(std::string_view text, address &out) noexcept {
    const std::size_t dash = text.find('-');
    if (!read_port(text.substr(0, dash), out.first_port))
        return false;
    out.last_port = out.first_port;
    return dash == text.npos ||
           (read_port(text.substr(dash + 1), out.last_port) && out.last_port >= out.first_port);
}

/// Whether it is the address of an interface; and whether of one that other machines do not reach.
bool is_literal(const std::string &host, bool &is_own) noexcept {
    in_addr v4{};
    if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) {
        is_own = (ntohl(v4.s_addr) >> 24) == 127;
        return true;
    }
    in6_addr v6{};
    if (::inet_pton(AF_INET6, host.c_str(), &v6) != 1)
        return false;
    is_own = IN6_IS_ADDR_LOOPBACK(&v6);
    return true;
}

bool read_query(std::string_view text, address &out) {
    constexpr std::string_view key = "host=";
    while (!text.empty()) {
        const std::size_t end = text.find('&');
        const std::string_view one = text.substr(0, end);
        if (one == "peers=1")
            out.tells_peers = true;
        else if (one.starts_with(key) && one.size() > key.size())
            out.names.emplace_back(one.substr(key.size()));
        else
            return false;
        text = end == text.npos ? std::string_view() : text.substr(end + 1);
    }
    return true;
}

bool parse_tcp(std::string_view text, bool anywhere, address &out, std::string &why) {
    const std::size_t question = text.find('?');
    if (question != text.npos && !read_query(text.substr(question + 1), out)) {
        why = "behind the ? stands host=NAME or peers=1, and more of them behind a & each";
        return false;
    }
    text = text.substr(0, question);
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || !read_ports(text.substr(colon + 1), out)) {
        why = "a port, or a first and a last one, is missing: tcp://127.0.0.1:9464 or "
              "tcp://127.0.0.1:9464-9480";
        return false;
    }
    std::string_view host = text.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
        host = host.substr(1, host.size() - 2);
    out.host = host == "localhost" ? "127.0.0.1" : std::string(host);
    bool is_own = false;
    if (!is_literal(out.host, is_own)) {
        why = "the host is an address in numbers, or localhost";
        return false;
    }
    if (!is_own && !anywhere)
        why = "other machines could read it there, which ZLINK_METRICS_ANY=1 allows";
    return is_own || anywhere;
}

}  // namespace

bool parse(std::string_view text, int process, bool anywhere, address &out, std::string &why) {
    out = {};
    why.clear();
    const std::string whole = with_process(text, process);
    const std::string_view rest = whole;
    if (rest.starts_with(tcp))
        return parse_tcp(rest.substr(tcp.size()), anywhere, out, why);
    out.is_file = rest.starts_with(file);
    if (!out.is_file && !rest.starts_with(unix_scheme)) {
        why = "it begins with tcp://, unix: or file:";
        return false;
    }
    out.path = rest.substr(out.is_file ? file.size() : unix_scheme.size());
    out.tells_peers = !out.is_file;
    if (out.path.empty())
        why = "a path is missing";
    else if (!out.is_file && out.path.size() + room_for_temporary_name >= sizeof(sockaddr_un::sun_path))
        why = "the path is too long";
    return why.empty();
}

}  // namespace zlink::metrics
