// The peers that may connect over tcp; see accept_filter.hpp.
#include "socket/accept_filter.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <cstring>
#include <string>

namespace zlink {

namespace {

/// A number of bits in decimal, nothing else.
bool parse_prefix(std::string_view text, int most, int &out) noexcept {
    const char *end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, out);
    return status == std::errc() && stop == end && out >= 0 && out <= most;
}

}  // namespace

std::optional<ipv4_or_6_filter> parse_accept_filter(std::string_view text, bool allow_v6) {
    const std::size_t slash = text.find('/');
    std::string address(text.substr(0, slash));
    if (address.size() > 2 && address.front() == '[' && address.back() == ']')
        address = address.substr(1, address.size() - 2);
    address = address.substr(0, address.find('%'));  // an interface says nothing about the sender

    ipv4_or_6_filter filter;
    in_addr v4;
    in6_addr v6;
    if (address.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string::npos)
        return std::nullopt;  // inet_aton would stop there
    if (::inet_aton(address.c_str(), &v4)) {
        std::memcpy(filter.address, &v4, sizeof v4);
        filter.prefix_bits = 32;
    } else if (allow_v6 && ::inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
        std::memcpy(filter.address, &v6, sizeof v6);
        filter.is_v6 = true;
        filter.prefix_bits = 128;
    } else
        return std::nullopt;
    if (slash != std::string_view::npos &&
        !parse_prefix(text.substr(slash + 1), filter.prefix_bits, filter.prefix_bits))
        return std::nullopt;
    return filter;
}

}  // namespace zlink
