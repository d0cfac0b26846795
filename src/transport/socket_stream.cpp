// The size of the send buffer, and where large writes are cut; see socket_stream.hpp. Map: the
// buffer; a large write in two; what the peer's system has not got.
#include "transport/socket_stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/platform.hpp"

namespace zlink {

error socket_stream::make(loop &io, owned_descriptor socket, std::string peer_address,
                          connection_traits traits, std::unique_ptr<stream> &out) noexcept {
    return open(io, std::move(socket), out,
                [&] { return new socket_stream(std::move(peer_address), traits); });
}

void socket_stream::size_for_large_bodies(std::span<const iovec> ranges) noexcept {
    if (!is_for_large_bodies())
        resize_send_buffer(descriptor(), true);
    writes_without_large_ = 0;
    most_writes_without_large_ = writes_until_small_send_buffer;
    large_left_ = 0;
    for (const iovec &range : ranges)
        large_left_ += range.iov_len;
}

/// A buffer that becomes smaller than what is in it takes nothing until the peer has read the rest:
/// a slow one would seem to have stopped. A stream that is always full makes it small in the end.
void socket_stream::follow_bodies() noexcept {
    ++writes_without_large_;
    if (is_for_large_bodies())
        return;
    if (writes_without_large_ < longest_deferral && unconfirmed() > send_buffer_within_machine)
        most_writes_without_large_ += writes_until_small_send_buffer;
    else
        resize_send_buffer(descriptor(), false);
}

/// Writes the beginning of a frame alone if the system would otherwise copy its body slowly. That
/// is known of a frame that is written by itself, or behind little else.
io_result socket_stream::write_large(std::span<const iovec> ranges) noexcept {
    using kernel_copy::copy_speed;
    copy_speed speed = copy_speed::quick;
    if (ranges.size() == 2 && ranges[0].iov_len <= most_octets_in_header)
        speed = kernel_copy::speed_of_sending(
            kernel_copy::offset_of_frame(ranges[1].iov_base, ranges[0].iov_len));
    if (speed == copy_speed::quick)
        return socket_calls::write(descriptor(), ranges);
    const std::size_t blocks = kernel_copy::blocks_to_place(speed);
    if (speed == copy_speed::slow || ranges[1].iov_len >= kernel_copy::always_placed_from)
        return write_in_parts(ranges, blocks);
    const long interruptions = platform::interruptions();
    const io_result result =
        placement_.is_due() ? write_in_parts(ranges, blocks) : socket_calls::write(descriptor(), ranges);
    placement_.note(platform::interruptions() != interruptions);
    return result;
}

/// Writes the octets up to the start of one of the system's next blocks alone, and then the rest.
/// It ends where the stream is full, and says so only if it has taken nothing.
io_result socket_stream::write_in_parts(std::span<const iovec> ranges, std::size_t blocks) noexcept {
    const std::size_t header = ranges[0].iov_len, all = header + ranges[1].iov_len;
    const std::size_t alone = kernel_copy::octets_to_write_alone(header, blocks);
    const auto of_body = [&](std::size_t from, std::size_t to) {
        return iovec{static_cast<char *>(ranges[1].iov_base) + (from - header), to - from};
    };
    const iovec beginning[] = {ranges[0], of_body(header, alone / blocks)};
    io_result result = socket_calls::write(descriptor(), beginning);
    for (std::size_t block = 1; block <= blocks && result.octets == block * alone / blocks; ++block) {
        const std::size_t to = block < blocks ? (block + 1) * alone / blocks : all;
        const iovec next = of_body(result.octets, to);
        const io_result added = socket_calls::write(descriptor(), {&next, 1});
        result.octets += added.octets;
        if (added.status != error::again)
            result.status = added.status;
    }
    return result;
}

std::size_t socket_stream::unconfirmed() noexcept {
    int family = AF_UNSPEC;
    socklen_t size = sizeof family;
    int octets = 0;
    // SIOCOUTQ tells of a local socket what the peer has not read, and that stays readable.
    if (::getsockopt(ready_.descriptor(), SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family == AF_UNIX ||
        ::ioctl(ready_.descriptor(), SIOCOUTQ, &octets) != 0)
        return 0;
    return static_cast<std::size_t>(octets);
}

bool socket_stream::finish_writing() noexcept { return ::shutdown(ready_.descriptor(), SHUT_WR) == 0; }

}  // namespace zlink
