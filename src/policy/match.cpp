// An endpoint taken apart, and held against each entry, the first first; see match.hpp. Map: the
// parts; hosts in one form; the tests of an entry.
#include "policy/match.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <string_view>

#include "core/schemes.hpp"
#include "transport/endpoint.hpp"

namespace zlink {

namespace {

struct parts {
    std::optional<std::string> host;
    std::optional<std::string> source;
    std::optional<std::string> path;
    std::optional<std::uint16_t> port;
};

parts take_apart(const endpoint_request &what) {
    parts found;
    const known_scheme *const how = find_scheme(what.scheme);
    if (!how)
        return found;
    if (!how->has_hosts()) {
        found.path = what.address;
        return found;
    }
    std::string_view address = what.address;
    if (how->has_web_path())
        address = address.substr(0, address.find('/'));
    if (what.binds) {
        tcp_local_address at;
        if (failed(parse_tcp_bind(address, at)))
            return found;
        found.host = std::move(at.host);
        found.port = at.port;
        return found;
    }
    tcp_remote_address to;
    if (failed(parse_tcp_connect(address, to)))
        return found;
    if (to.has_source)
        found.source = std::move(to.source.host);
    found.host = std::move(to.host);
    found.port = to.port;
    return found;
}

/// A numeric address in the form that the system prints, a name in small letters. All that
/// getaddrinfo() takes for a numeric address is one: 127.1 and 0x7f000001, an IPv4 address inside
/// of IPv6, and one with a zone.
std::string canonical(std::string host) {
    const std::size_t mark = std::min(host.find('%'), host.size());
    const std::string bare = host.substr(0, mark);
    in6_addr v6;
    in_addr v4;
    char printed[INET6_ADDRSTRLEN];
    const bool is_v6 = ::inet_pton(AF_INET6, bare.c_str(), &v6) == 1;
    bool is_v4 = !is_v6 && ::inet_aton(bare.c_str(), &v4) != 0;
    if (is_v6 && IN6_IS_ADDR_V4MAPPED(&v6)) {
        is_v4 = true;
        std::memcpy(&v4, v6.s6_addr + sizeof v6 - sizeof v4, sizeof v4);
    }
    if (is_v4 && ::inet_ntop(AF_INET, &v4, printed, sizeof printed))
        return printed;
    if (is_v6 && ::inet_ntop(AF_INET6, &v6, printed, sizeof printed))
        return printed + host.substr(mark);
    for (char &c : host)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    if (host.size() > 1 && host.back() == '.')
        host.pop_back();
    return host;
}

bool names_host(const std::vector<std::string> &wanted, const std::optional<std::string> &host) {
    if (wanted.empty())
        return true;
    return host && std::any_of(wanted.begin(), wanted.end(),
                               [own = canonical(*host)](const auto &each) { return canonical(each) == own; });
}

template <class Wanted, class Value>
bool names(const std::vector<Wanted> &wanted, const Value &value) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool has_port(const std::vector<port_range> &wanted, const std::optional<std::uint16_t> &port) {
    return wanted.empty() || (port && std::any_of(wanted.begin(), wanted.end(), [&](const port_range &each) {
                                  return *port >= each.first && *port <= each.last;
                              }));
}

}  // namespace

const policy_entry *first_match(const policy_rules &in, const endpoint_request &what) {
    const parts own = take_apart(what);
    const auto matches = [&](const policy_entry &each) {
        return each.binds.value_or(what.binds) == what.binds && names(each.types, what.type) &&
               names(each.schemes, what.scheme) && names_host(each.hosts, own.host) &&
               names_host(each.sources, own.source) && has_port(each.ports, own.port) &&
               (each.paths.empty() || (own.path && names(each.paths, *own.path)));
    };
    const auto found = std::find_if(in.entries.begin(), in.entries.end(), matches);
    return found == in.entries.end() ? nullptr : &*found;
}

}  // namespace zlink
