// Sockets of the system made and set up as `settings` say; the only place that calls setsockopt.
//
// Threads:  any. No function here blocks.
#pragma once

#include <sys/socket.h>
#include <vector>

#include "core/error.hpp"
#include "core/owned_descriptor.hpp"
#include "core/settings.hpp"
#include "reactor/shedding.hpp"

namespace zlink {

/// A stream socket: non-blocking, closed on exec.
error open_socket(int family, owned_descriptor &out) noexcept;
/// Makes a socket on the thread of the loop that has the `sheddables`, which make way for it.
error open_socket(int family, shed_list &sheddables, owned_descriptor &out) noexcept;
/// Takes a descriptor that the application made.
error adopt_socket(int descriptor, owned_descriptor &out) noexcept;

/// Sets the options that must be set before bind, listen or connect: buffers, type of service,
/// priority, busy polling, the device (whose refusal is the only one that is an error), IPv4 on
/// IPv6 sockets.
error set_up_tcp_socket(int descriptor, int family, const settings &options) noexcept;
/// The buffers alone.
void set_up_ipc_socket(int descriptor, const settings &options) noexcept;
/// The send buffer of a local socket as small as the system lets it be. False when that cannot be
/// done.
bool set_smallest_send_buffer(int descriptor) noexcept;
/// Whether the peer of a local socket runs as the same user as this process.
bool is_of_this_user(int descriptor) noexcept;
/// Lets a listener take an address that closed connections still linger on.
void allow_address_reuse(int descriptor) noexcept;
/// A tcp connection that is closed after this leaves nothing behind, no address that is in use for
/// a while.
void reset_when_closed(int descriptor) noexcept;
/// Sets the options of a connection: no delay, keep-alives and the limit of retransmission.
void set_up_tcp_connection(int descriptor, const settings &options) noexcept;
/// Whether both ends of a tcp connection have the same address: what is sent stays on this machine.
bool is_within_machine(int descriptor) noexcept;
/// BBR holds octets back by the clock, for a way between machines that there is none of here. Any
/// other congestion control is left as it is.
void do_without_bbr(int descriptor) noexcept;
/// The system doubles it, and leaves it as it is from then on.
void set_send_buffer(int descriptor, int octets) noexcept;
/// The system may have given less than was asked for.
void let_send_buffer_grow(int descriptor) noexcept;
/// Octets written to a tcp connection that the peer's system has not confirmed. 0 where the socket
/// is a local one.
std::size_t unconfirmed_octets(int descriptor) noexcept;
/// Why a connect in progress ended: none when it succeeded.
error connect_result(int descriptor) noexcept;

/// Whether the tcp filters let an address in: there are none, or one of them covers it.
bool is_admitted(const sockaddr *peer, const std::vector<ipv4_or_6_filter> &filters) noexcept;
/// Whether the filters of user, group and process let the peer of a local socket in: there are
/// none, or one of them names it.
bool is_ipc_peer_admitted(int descriptor, const settings &options) noexcept;

}  // namespace zlink
