// Writes of large frames, placed for the system; see tcp_stream.hpp.
#include "transport/tcp_stream.hpp"

#include "core/platform.hpp"

namespace zlink {

error tcp_stream::make(loop &io, owned_descriptor socket, std::string peer_address, local_tcp local,
                       std::unique_ptr<stream> &out) noexcept {
    return open(io, std::move(socket), out, [&] { return new tcp_stream(std::move(peer_address), local); });
}

/// Writes the beginning of a frame alone if the system would otherwise copy its body slowly. That
/// is known of a frame that is written by itself, or behind little else.
io_result tcp_stream::write_large(std::span<const iovec> ranges) noexcept {
    using kernel_copy::copy_speed;
    copy_speed speed = copy_speed::quick;
    if (ranges.size() == 2 && ranges[0].iov_len <= kernel_copy::most_octets_in_front)
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
io_result tcp_stream::write_in_parts(std::span<const iovec> ranges, std::size_t blocks) noexcept {
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

}  // namespace zlink
