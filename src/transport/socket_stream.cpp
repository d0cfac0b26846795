#include "transport/socket_stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace zlink {

error socket_stream::make(loop &io, owned_descriptor socket, std::string peer_address, bool resizes,
                          std::unique_ptr<stream> &out) noexcept {
    return open(io, std::move(socket), out,
                [&] { return new socket_stream(std::move(peer_address), resizes); });
}

void socket_stream::follow_bodies(const iovec &last) noexcept {
    const bool was_for_large = is_for_large_bodies_;
    if (is_large(last)) {
        writes_without_large_ = 0;
        is_for_large_bodies_ = true;
    } else {
        is_for_large_bodies_ = ++writes_without_large_ < writes_until_small_send_buffer;
    }
    if (is_for_large_bodies_ != was_for_large)
        resize_send_buffer(descriptor(), is_for_large_bodies_);
}

std::size_t socket_stream::unconfirmed() noexcept {
    int family = AF_UNSPEC;
    socklen_t size = sizeof family;
    int octets = 0;
    // Of a local socket SIOCOUTQ tells what the peer has not read, and that stays readable.
    if (::getsockopt(ready_.descriptor(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family == AF_UNIX ||
        ::ioctl(ready_.descriptor(), SIOCOUTQ, &octets) != 0)
        return 0;
    return static_cast<std::size_t>(octets);
}

bool socket_stream::finish_writing() noexcept { return ::shutdown(ready_.descriptor(), SHUT_WR) == 0; }

}  // namespace zlink
