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
    if (ranges.size() == 2 && ranges[0].iov_len <= most_in_front)
        speed = kernel_copy::speed_of_sending(
            kernel_copy::offset_of_frame(ranges[1].iov_base, ranges[0].iov_len));
    if (placement_.is_due(speed))
        return write_in_two(ranges);
    if (speed != copy_speed::varies)
        return socket_calls::write(descriptor(), ranges);
    const clock_source &clock = platform::steady_clock();
    const long interruptions = platform::interruptions();
    const time_point start = clock.now();
    const io_result result = socket_calls::write(descriptor(), ranges);
    const time_point end = clock.now();
    placement_.note(result.octets, end - start, platform::interruptions() != interruptions);
    return result;
}

io_result socket_stream::write_in_two(std::span<const iovec> ranges) noexcept {
    const std::size_t of_body = kernel_copy::octets_to_next_block - ranges[0].iov_len;
    const iovec beginning[] = {ranges[0], {ranges[1].iov_base, of_body}};
    const io_result first = socket_calls::write(descriptor(), beginning);
    if (first.octets < kernel_copy::octets_to_next_block)
        return first;
    const iovec rest{static_cast<char *>(ranges[1].iov_base) + of_body, ranges[1].iov_len - of_body};
    io_result result = socket_calls::write(descriptor(), {&rest, 1});
    if (result.status == error::again)
        result.status = error::none;
    result.octets += first.octets;
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
