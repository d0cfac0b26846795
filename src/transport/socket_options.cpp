// Calls of setsockopt, and who is let in; see socket_options.hpp.
//
// Order:    owned descriptors, sockets opened and adopted; sockets of tcp and ipc set up;
//           connections of tcp set up; how a connect ended; filters of addresses and of users.
#include "transport/socket_options.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/platform.hpp"
#include "transport/passed_descriptors.hpp"

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72  // Linux 5.15
#endif

namespace zlink {

namespace {

bool set_int(int descriptor, int level, int option, int value) noexcept {
    return ::setsockopt(descriptor, level, option, &value, sizeof value) == 0;
}

bool get_int(int descriptor, int level, int option, int &out) noexcept {
    socklen_t size = sizeof out;
    return ::getsockopt(descriptor, level, option, &out, &size) == 0;
}

void set_up_buffers(int descriptor, const settings &options) noexcept {
    if (options.send_buffer >= 0)
        set_int(descriptor, SOL_SOCKET, SO_SNDBUF, options.send_buffer);
    if (options.receive_buffer >= 0)
        set_int(descriptor, SOL_SOCKET, SO_RCVBUF, options.receive_buffer);
}

struct ip_address {
    std::uint8_t octets[16] = {};
    bool is_v6 = false;
    bool operator==(const ip_address &) const = default;
};

/// An IPv4 address on a socket of IPv6 is what it is. False for other families.
bool get_address(const sockaddr *from, ip_address &out) noexcept {
    if (from->sa_family == AF_INET) {
        std::memcpy(out.octets, &reinterpret_cast<const sockaddr_in *>(from)->sin_addr, 4);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    const in6_addr &a = reinterpret_cast<const sockaddr_in6 *>(from)->sin6_addr;
    out.is_v6 = !IN6_IS_ADDR_V4MAPPED(&a);
    std::memcpy(out.octets, out.is_v6 ? a.s6_addr : a.s6_addr + 12, out.is_v6 ? 16 : 4);
    return true;
}

bool have_equal_prefix(const std::uint8_t *a, const std::uint8_t *b, int bits) noexcept {
    const int octets = bits / 8, rest = bits % 8;
    if (std::memcmp(a, b, static_cast<std::size_t>(octets)) != 0)
        return false;
    return rest == 0 || ((a[octets] ^ b[octets]) >> (8 - rest)) == 0;
}

}  // namespace

error open_socket(int family, owned_descriptor &out) noexcept {
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return from_errno(errno);
    out = owned_descriptor(fd);
    return error::none;
}

error open_socket(int family, shed_list &sheddables, owned_descriptor &out) noexcept {
    for (;;) {
        const error e = open_socket(family, out);
        if (!failed(e) || !sheddables.makes_way_after(to_errno(e)))
            return e;
    }
}

error adopt_socket(int descriptor, owned_descriptor &out) noexcept {
    const int flags = ::fcntl(descriptor, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0)
        return from_errno(errno);
    out = owned_descriptor(descriptor);
    return error::none;
}

error set_up_tcp_socket(int descriptor, int family, const settings &options) noexcept {
    if (family == AF_INET6)
        set_int(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (!options.bind_to_device.empty() &&
        ::setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, options.bind_to_device.data(),
                     static_cast<socklen_t>(options.bind_to_device.size())) != 0)
        return from_errno(errno);
    set_up_buffers(descriptor, options);
    if (options.type_of_service != 0) {
        set_int(descriptor, IPPROTO_IP, IP_TOS, options.type_of_service);
        if (family == AF_INET6)
            set_int(descriptor, IPPROTO_IPV6, IPV6_TCLASS, options.type_of_service);
    }
    if (options.priority != 0)
        set_int(descriptor, SOL_SOCKET, SO_PRIORITY, options.priority);
    if (options.busy_poll != 0)
        set_int(descriptor, SOL_SOCKET, SO_BUSY_POLL, options.busy_poll);
    return error::none;
}

void set_up_ipc_socket(int descriptor, const settings &options) noexcept {
    set_up_buffers(descriptor, options);
    passed_descriptors::refuse(descriptor);
}

bool set_smallest_send_buffer(int descriptor) noexcept {
    return set_int(descriptor, SOL_SOCKET, SO_SNDBUF, 1);  // the system takes its least one
}

bool is_of_this_user(int descriptor) noexcept {
    constexpr uid_t anybody = 65534;  // of another user namespace
    platform::credentials peer;
    return platform::peer_credentials(descriptor, peer) && peer.uid == ::geteuid() && peer.uid != anybody;
}

void allow_address_reuse(int descriptor) noexcept { set_int(descriptor, SOL_SOCKET, SO_REUSEADDR, 1); }

void reset_when_closed(int descriptor) noexcept {
    const ::linger at_once{1, 0};
    (void)::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

// The peer may be gone already, which makes any of these fail; the first read or write tells.
void set_up_tcp_connection(int descriptor, const settings &options) noexcept {
    set_int(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    if (options.tcp_keepalive != -1)
        set_int(descriptor, SOL_SOCKET, SO_KEEPALIVE, options.tcp_keepalive);
    if (options.tcp_keepalive == 1) {
        if (options.tcp_keepalive_count != -1)
            set_int(descriptor, IPPROTO_TCP, TCP_KEEPCNT, options.tcp_keepalive_count);
        if (options.tcp_keepalive_idle != -1)
            set_int(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, options.tcp_keepalive_idle);
        if (options.tcp_keepalive_interval != -1)
            set_int(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, options.tcp_keepalive_interval);
    }
    if (options.tcp_max_retransmit_ms > 0)
        set_int(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, options.tcp_max_retransmit_ms);
}

void set_send_buffer(int descriptor, int octets) noexcept {
    set_int(descriptor, SOL_SOCKET, SO_SNDBUF, octets);
}

bool is_within_machine(int descriptor) noexcept {
    const auto get = [descriptor](auto *ask, ip_address &out) {
        sockaddr_storage end{};
        socklen_t size = sizeof end;
        sockaddr *const address = reinterpret_cast<sockaddr *>(&end);
        return ask(descriptor, address, &size) == 0 && get_address(address, out);
    };
    ip_address here, there;
    return get(::getsockname, here) && get(::getpeername, there) && here == there;
}

void do_without_bbr(int descriptor) noexcept {
    constexpr std::string_view bbr = "bbr", each_system_has_it = "reno";
    char name[16] = {};
    socklen_t size = sizeof name;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0 &&
        std::string_view(name, bbr.size()) == bbr)
        ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, each_system_has_it.data(),
                     each_system_has_it.size());
}

void let_send_buffer_grow(int descriptor) noexcept {
    constexpr int of_sending = 1;  // SOCK_SNDBUF_LOCK; the other one belongs to ZMQ_RCVBUF
    int fixed = 0;
    if (get_int(descriptor, SOL_SOCKET, SO_BUF_LOCK, fixed))
        set_int(descriptor, SOL_SOCKET, SO_BUF_LOCK, fixed & ~of_sending);
}

std::size_t unconfirmed_octets(int descriptor) noexcept {
    int family = AF_UNSPEC;
    int octets = 0;
    // SIOCOUTQ tells of a local socket what the peer has not read, and that stays readable.
    if (!get_int(descriptor, SOL_SOCKET, SO_DOMAIN, family) || family == AF_UNIX ||
        ::ioctl(descriptor, SIOCOUTQ, &octets) != 0)
        return 0;
    return static_cast<std::size_t>(octets);
}

error connect_result(int descriptor) noexcept {
    int number = 0;
    if (!get_int(descriptor, SOL_SOCKET, SO_ERROR, number))
        return from_errno(errno);
    return from_errno(number);
}

bool is_admitted(const sockaddr *peer, const std::vector<ipv4_or_6_filter> &filters) noexcept {
    if (filters.empty())
        return true;
    ip_address address;
    if (!get_address(peer, address))
        return false;
    return std::any_of(filters.begin(), filters.end(), [&](const ipv4_or_6_filter &f) {
        return f.is_v6 == address.is_v6 && have_equal_prefix(f.address, address.octets, f.prefix_bits);
    });
}

bool is_ipc_peer_admitted(int descriptor, const settings &options) noexcept {
    if (options.ipc_uid_filters.empty() && options.ipc_gid_filters.empty() && options.ipc_pid_filters.empty())
        return true;
    platform::credentials peer;
    if (!platform::peer_credentials(descriptor, peer))
        return false;
    return options.ipc_uid_filters.count(peer.uid) || options.ipc_pid_filters.count(peer.pid) ||
           std::any_of(options.ipc_gid_filters.begin(), options.ipc_gid_filters.end(),
                       [&](unsigned gid) { return platform::is_in_group(peer.uid, peer.gid, gid); });
}

}  // namespace zlink
