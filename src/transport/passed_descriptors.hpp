// Descriptors that a local peer passes beside its octets (SCM_RIGHTS), and that nobody asked for.
//
// The thread that drops the last reference to a file waits for what its closing takes: a tcp socket
// that lingers takes as long as the peer has chosen, a file of another program's file system as
// long as that program likes. The system drops what is not received, too, in the thread that reads,
// or closes, the socket. So descriptors are refused where the system can (Linux 6.16), else all of
// them are received, and closed by threads of their own.
//
// Threads:  any. The closing threads start when there is something to close, and end when there is
//           nothing.
#pragma once

namespace zlink::passed_descriptors {

/// Has a local socket refuse descriptors: the peer's attempt to send one fails. Sockets that a
/// listener accepts do as it does. Without effect where the system cannot.
void refuse(int socket) noexcept;
void permit(int socket) noexcept;
/// Whether none has come since the socket, or its listener, was told so.
bool are_refused(int socket) noexcept;

/// Closes a descriptor elsewhere. Takes it over.
void close_elsewhere(int descriptor) noexcept;

}  // namespace zlink::passed_descriptors
