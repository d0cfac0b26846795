#include "transport/ipc_stream.hpp"

namespace zlink {

error ipc_stream::make(loop &io, owned_descriptor socket, std::size_t ring_size,
                       std::unique_ptr<stream> &out) noexcept {
    try {
        std::unique_ptr<ipc_stream> s(new ipc_stream(io, is_of_this_user(socket.get()), ring_size));
        if (error e = s->open(io, std::move(socket)); failed(e))
            return e;
        out = std::move(s);
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
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
