// Reads and writes of sockets, without blocking, as io_result tells of them.
//
// Threads:  any, one at a time for each direction of a socket.
#pragma once

#include "transport/socket_options.hpp"
#include "transport/transport.hpp"

namespace zlink::socket_calls {

io_result read(int socket, std::span<const iovec> ranges) noexcept;
io_result write(int socket, std::span<const iovec> ranges) noexcept;

/// Says whether the peer of a local socket has closed its end: none as long as the peer has not
/// closed its end.
error check_peer(int socket) noexcept;
/// Sends on a local socket a copy of `descriptor` beside the octets. Nothing is sent when no octet
/// is.
io_result write_with_descriptor(int socket, std::span<const iovec> ranges, int descriptor) noexcept;
/// Takes a descriptor that was sent beside the octets. Further ones are closed elsewhere.
io_result read_with_descriptor(int socket, std::span<const iovec> ranges, owned_descriptor &out) noexcept;
/// Has all descriptors closed elsewhere.
io_result read_without_descriptors(int socket, std::span<const iovec> ranges) noexcept;
/// To be called before a socket is closed that descriptors may have come to: the peer can send
/// nothing more, and what it has sent is received. The system would close them with the socket.
void drop_unread(int socket) noexcept;

}  // namespace zlink::socket_calls
