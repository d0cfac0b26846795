// The socket, and the two rings beside it; see ipc_stream.hpp.
#include "transport/ipc_stream.hpp"

#include "transport/passed_descriptors.hpp"
#include "transport/socket_calls.hpp"

namespace zlink {

error ipc_stream::make(loop &io, owned_descriptor socket, std::size_t ring_size,
                       std::unique_ptr<stream> &out) noexcept {
    // Between users it could be on the other one's account.
    if (ring_size > 0 && !is_of_this_user(socket.get()))
        ring_size = 0;
    // Some may have come to a listener's socket that somebody else has made.
    const bool brings_descriptors = ring_size > 0 || !passed_descriptors::are_refused(socket.get());
    if (ring_size > 0)
        passed_descriptors::permit(socket.get());
    else
        passed_descriptors::refuse(socket.get());
    return open(io, std::move(socket), out,
                [&] { return new ipc_stream(io, ring_size, brings_descriptors); });
}

ipc_stream::~ipc_stream() {
    if (descriptor() >= 0 && input_.brings_descriptors() && generation_ == platform::fork_generation())
        socket_calls::drop_unread(descriptor());
}

void ipc_stream::wait_readable() noexcept {
    if (holds_input())
        again_.schedule();
    else
        socket_stream::wait_readable();
}

bool ipc_stream::lease_out() noexcept {
    if (!socket_stream::lease_out())
        return false;
    again_.cancel();
    return true;
}

}  // namespace zlink
