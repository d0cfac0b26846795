// The octets of SOCKS 5, and the states of a conversation; see socks5.hpp.
//
// Order:    what is sent: methods, credentials, request; what a reply means; the states, from the
//           proxy's choice of a method to the end of its reply.
#include "transport/socks5.hpp"

#include <algorithm>
#include <arpa/inet.h>

namespace zlink {

namespace {

constexpr std::uint8_t version = 5;
constexpr std::uint8_t credentials_version = 1;  // RFC 1929
constexpr std::uint8_t connect_command = 1;
constexpr std::uint8_t without_credentials = 0;  // methods
constexpr std::uint8_t with_credentials = 2;
constexpr std::uint8_t ipv4_address = 1;  // kinds of addresses
constexpr std::uint8_t name_address = 3;
constexpr std::uint8_t ipv6_address = 4;

constexpr std::size_t choice_size = 2;
constexpr std::size_t verdict_size = 2;
constexpr std::size_t reply_head_size = 5;  // up to the first octet of the address
constexpr std::size_t port_size = 2;

void append(std::string &out, std::uint8_t octet) { out += static_cast<char>(octet); }
void append_text(std::string &out, std::string_view text) {
    append(out, static_cast<std::uint8_t>(text.size()));
    out += text;
}

std::string methods_for(std::string_view user) {
    std::string out;
    append(out, version);
    append(out, user.empty() ? 1 : 2);
    append(out, without_credentials);
    if (!user.empty())
        append(out, with_credentials);
    return out;
}

std::string credentials_of(std::string_view user, std::string_view password) {
    std::string out;
    if (user.empty())
        return out;
    append(out, credentials_version);
    append_text(out, user);
    append_text(out, password);
    return out;
}

std::string request_for(std::string_view host, std::uint16_t port) {
    std::string out;
    append(out, version);
    append(out, connect_command);
    append(out, 0);  // reserved
    char address[sizeof(in6_addr)];
    const std::string text(host);
    if (::inet_pton(AF_INET, text.c_str(), address) == 1) {
        append(out, ipv4_address);
        out.append(address, sizeof(in_addr));
    } else if (::inet_pton(AF_INET6, text.c_str(), address) == 1) {
        append(out, ipv6_address);
        out.append(address, sizeof(in6_addr));
    } else {
        append(out, name_address);
        append_text(out, host);
    }
    append(out, static_cast<std::uint8_t>(port >> 8));
    append(out, static_cast<std::uint8_t>(port));
    return out;
}

/// The meaning of the REP field (RFC 1928 §6).
error meaning_of(std::uint8_t reply) noexcept {
    switch (reply) {
    case 2:
        return from_errno(EACCES);
    case 3:
        return from_errno(ENETUNREACH);
    case 4:
        return error::host_unreachable;
    case 5:
        return error::connection_refused;
    case 6:
        return error::timed_out;
    case 7:
    case 8:
        return error::not_supported;
    default:
        return error::protocol;
    }
}

}  // namespace

socks5_conversation::socks5_conversation(std::string_view host, std::uint16_t port, std::string_view user,
                                         std::string_view password)
    : methods_(methods_for(user)), credentials_(credentials_of(user, password)),
      request_(request_for(host, port)), output_(as_bytes(methods_)), wanted_(choice_size) {}

socks5_conversation::progress socks5_conversation::receive(byte_span octets) noexcept {
    const std::size_t taken = std::min(octets.size(), wanted());
    std::copy_n(octets.begin(), taken, in_.begin() + static_cast<std::ptrdiff_t>(have_));
    have_ += taken;
    if (stage_ == stage::over)
        return failed(failure_) ? progress::failed : progress::opened;
    return wanted() > 0 ? progress::unfinished : next();
}

socks5_conversation::progress socks5_conversation::next() noexcept {
    switch (stage_) {
    case stage::choice:
        return on_choice();
    case stage::verdict:
        if (in_[0] != credentials_version)
            return fail(error::protocol);
        return in_[1] == 0 ? ask(stage::reply_head, request_, reply_head_size) : fail(from_errno(EACCES));
    case stage::reply_head:
        return on_reply_head();
    case stage::reply_rest:
    case stage::over:
        break;
    }
    stage_ = stage::over;
    have_ = wanted_ = 0;
    return progress::opened;
}

socks5_conversation::progress socks5_conversation::on_choice() noexcept {
    if (in_[0] != version)
        return fail(error::protocol);
    if (in_[1] == without_credentials)
        return ask(stage::reply_head, request_, reply_head_size);
    if (in_[1] == with_credentials && !credentials_.empty())
        return ask(stage::verdict, credentials_, verdict_size);
    return fail(from_errno(EACCES));
}

/// The address is the proxy's own end of the connection, and is passed over.
socks5_conversation::progress socks5_conversation::on_reply_head() noexcept {
    if (in_[0] != version)
        return fail(error::protocol);
    if (in_[1] != 0)
        return fail(meaning_of(in_[1]));
    std::size_t address_size = 0;
    switch (in_[3]) {
    case ipv4_address:
        address_size = sizeof(in_addr);
        break;
    case ipv6_address:
        address_size = sizeof(in6_addr);
        break;
    case name_address:
        address_size = std::size_t{1} + in_[4];
        break;
    default:
        return fail(error::protocol);
    }
    stage_ = stage::reply_rest;
    have_ = 0;
    wanted_ = address_size - 1 + port_size;
    return progress::unfinished;
}

socks5_conversation::progress socks5_conversation::ask(stage then, const std::string &text,
                                                       std::size_t wanted) noexcept {
    stage_ = then;
    output_ = as_bytes(text);
    have_ = 0;
    wanted_ = wanted;
    return progress::unfinished;
}

socks5_conversation::progress socks5_conversation::fail(error why) noexcept {
    stage_ = stage::over;
    failure_ = why;
    have_ = wanted_ = 0;
    output_ = {};
    return progress::failed;
}

}  // namespace zlink
