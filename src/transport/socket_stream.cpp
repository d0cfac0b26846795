#include "transport/socket_stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace zlink {

namespace {

io_result failure_of_call() noexcept {
    return {0, errno == EAGAIN || errno == EWOULDBLOCK ? error::again : from_errno(errno)};
}

msghdr header_of(std::span<const iovec> ranges) noexcept {
    msghdr header{};
    header.msg_iov = const_cast<iovec *>(ranges.data());
    header.msg_iovlen = ranges.size();
    return header;
}

}  // namespace

error socket_stream::make(loop &io, owned_descriptor socket, std::string peer_address,
                          std::unique_ptr<stream> &out) noexcept {
    try {
        std::unique_ptr<socket_stream> s(new socket_stream(std::move(peer_address)));
        if (error e = readiness::make(io, socket.get(), *s, s->ready_); failed(e))
            return e;
        socket.release();
        out = std::move(s);
        return error::none;
    } catch (const std::bad_alloc &) {
        return error::no_memory;
    }
}

io_result socket_stream::try_read(std::span<const iovec> ranges) noexcept {
    msghdr header = header_of(ranges);
    ssize_t count;
    do
        count = ranges.size() == 1 ? ::recv(ready_.descriptor(), ranges[0].iov_base, ranges[0].iov_len, 0)
                                   : ::recvmsg(ready_.descriptor(), &header, 0);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return failure_of_call();
    if (count == 0)
        return {0, error::connection_reset};
    return {static_cast<std::size_t>(count), error::none};
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

io_result socket_stream::try_write(std::span<const iovec> ranges) noexcept {
    msghdr header = header_of(ranges);
    ssize_t count;
    do
        count = ranges.size() == 1
                    ? ::send(ready_.descriptor(), ranges[0].iov_base, ranges[0].iov_len, MSG_NOSIGNAL)
                    : ::sendmsg(ready_.descriptor(), &header, MSG_NOSIGNAL);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return failure_of_call();
    return {static_cast<std::size_t>(count), error::none};
}

}  // namespace zlink
