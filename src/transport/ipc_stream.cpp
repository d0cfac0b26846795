#include "transport/ipc_stream.hpp"

namespace zlink {

error ipc_stream::make(loop &io, owned_descriptor socket, std::size_t ring_size,
                       std::unique_ptr<stream> &out) noexcept {
    // Between users it could be on the other one's account.
    if (ring_size > 0 && !is_of_this_user(socket.get()))
        ring_size = 0;
    return open(io, std::move(socket), out, [&] { return new ipc_stream(io, ring_size); });
}

void ipc_stream::wait_readable() noexcept {
    if (holds_input())
        again_.schedule();
    else
        socket_stream::wait_readable();
}

bool ipc_stream::lend() noexcept {
    if (!socket_stream::lend())
        return false;
    again_.cancel();
    return true;
}

}  // namespace zlink
