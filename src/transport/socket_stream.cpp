#include "transport/socket_stream.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/platform.hpp"

namespace zlink {

error socket_stream::make(loop &io, owned_descriptor socket, std::string peer_address, connection_place place,
                          std::unique_ptr<stream> &out) noexcept {
    return open(io, std::move(socket), out,
                [&] { return new socket_stream(std::move(peer_address), place); });
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

/// Writes the beginning of a frame alone if the system would otherwise copy its body slowly. That is known of a frame that is written by
/// itself, or behind little else.
io_result socket_stream::write_large(std::span<const iovec> ranges) noexcept {
    using kernel_copy::copy_speed;
    constexpr std::size_t most_in_front = 64;
    copy_speed speed = copy_speed::quick;
    std::size_t frame = 0;
    if (ranges.size() == 2 && ranges[0].iov_len <= most_in_front) {
        frame = kernel_copy::offset_of_frame(ranges[1].iov_base, ranges[0].iov_len);
        speed = kernel_copy::speed_of_sending(frame);
    }
    if (speed == copy_speed::quick)
        return socket_calls::write(descriptor(), ranges);
    const bool is_due = placement_.is_due(speed);
    const long interruptions = platform::interruptions();
    const io_result result = is_due ? write_in_parts(ranges, kernel_copy::octets_to_place(frame))
                                    : socket_calls::write(descriptor(), ranges);
    placement_.note(platform::interruptions() != interruptions);
    return result;
}

/// Writes `alone` octets first, one block of the system's after the other.
io_result socket_stream::write_in_parts(std::span<const iovec> ranges, std::size_t alone) noexcept {
    using kernel_copy::octets_to_next_block;
    const auto body = [&](std::size_t from, std::size_t to) {
        const std::size_t header = ranges[0].iov_len;
        return iovec{static_cast<char *>(ranges[1].iov_base) + (from - header), to - from};
    };
    const iovec beginning[] = {ranges[0], body(ranges[0].iov_len, octets_to_next_block)};
    io_result result = socket_calls::write(descriptor(), beginning);
    for (std::size_t from = octets_to_next_block; result.octets == from;) {
        const std::size_t all = ranges[0].iov_len + ranges[1].iov_len;
        const iovec next = body(from, from < alone ? from + octets_to_next_block : all);
        const io_result added = socket_calls::write(descriptor(), {&next, 1});
        result.octets += added.octets;
        if (added.status != error::again)
            result.status = added.status;
        if (from == alone)
            break;
        from += octets_to_next_block;
    }
    return result;
}

bool socket_stream::shares_processor() const noexcept {
    return place_.is_within_machine && came_in_here(descriptor());
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
