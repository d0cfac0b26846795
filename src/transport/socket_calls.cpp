// recvmsg(2) and sendmsg(2), and what their answers mean; see socket_calls.hpp. Map: results;
// octets; octets with a descriptor; what is thrown away.
#include "transport/socket_calls.hpp"

#include <array>
#include <cstring>
#include <sys/socket.h>

#include "core/io_tally.hpp"
#include "transport/passed_descriptors.hpp"

namespace zlink::socket_calls {

namespace {

constexpr std::size_t most_descriptors =
    253;  // that a peer can send at once (unix(7)): the system closes none for us
using control_octets = char[CMSG_SPACE(most_descriptors * sizeof(int))];

msghdr header_of(std::span<const iovec> ranges) noexcept {
    msghdr header{};
    header.msg_iov = const_cast<iovec *>(ranges.data());
    header.msg_iovlen = ranges.size();
    return header;
}

template <class Call>
ssize_t repeat_interrupted(Call &&call) noexcept {
    ssize_t count;
    do
        count = call();
    while (count < 0 && errno == EINTR);
    return count;
}

io_result result_of_call(ssize_t count) noexcept {
    if (count < 0)
        return {0, errno == EAGAIN || errno == EWOULDBLOCK ? error::again : from_errno(errno)};
    return {static_cast<std::size_t>(count), error::none};
}

io_result result_of_read(ssize_t count) noexcept {
    return count == 0 ? io_result{0, error::connection_reset, true} : result_of_call(count);
}

}  // namespace

io_result read(int socket, std::span<const iovec> ranges) noexcept {
    io_tally::count(&io_tally::reads);
    msghdr header = header_of(ranges);
    return result_of_read(repeat_interrupted([&] {
        return ranges.size() == 1 ? ::recv(socket, ranges[0].iov_base, ranges[0].iov_len, 0)
                                  : ::recvmsg(socket, &header, 0);
    }));
}

io_result write(int socket, std::span<const iovec> ranges) noexcept {
    io_tally::count(&io_tally::writes);
    msghdr header = header_of(ranges);
    return result_of_call(repeat_interrupted([&] {
        return ranges.size() == 1 ? ::send(socket, ranges[0].iov_base, ranges[0].iov_len, MSG_NOSIGNAL)
                                  : ::sendmsg(socket, &header, MSG_NOSIGNAL);
    }));
}

// Sends nothing, and fails where something would.
error check_peer(int socket) noexcept {
    const error e =
        result_of_call(repeat_interrupted([&] { return ::send(socket, nullptr, 0, MSG_NOSIGNAL); })).status;
    return e == error::again ? error::none : e;
}

io_result write_with_descriptor(int socket, std::span<const iovec> ranges, int descriptor) noexcept {
    io_tally::count(&io_tally::writes);
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = header_of(ranges);
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr *beside = CMSG_FIRSTHDR(&header);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(beside), &descriptor, sizeof descriptor);
    return result_of_call(repeat_interrupted([&] { return ::sendmsg(socket, &header, MSG_NOSIGNAL); }));
}

namespace {

/// Calls `take` with each descriptor.
template <class Take>
io_result read_all(int socket, std::span<const iovec> ranges, Take &&take) noexcept {
    io_tally::count(&io_tally::reads);
    alignas(cmsghdr) control_octets control;
    msghdr header = header_of(ranges);
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const io_result result =
        result_of_read(repeat_interrupted([&] { return ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC); }));
    if (failed(result.status))
        return result;
    for (cmsghdr *beside = CMSG_FIRSTHDR(&header); beside; beside = CMSG_NXTHDR(&header, beside)) {
        if (beside->cmsg_level != SOL_SOCKET || beside->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= beside->cmsg_len; at += sizeof(int)) {
            int descriptor;
            std::memcpy(&descriptor, reinterpret_cast<const char *>(beside) + at, sizeof descriptor);
            take(descriptor);
        }
    }
    return result;
}

}  // namespace

io_result read_with_descriptor(int socket, std::span<const iovec> ranges, owned_descriptor &out) noexcept {
    return read_all(socket, ranges, [&out](int descriptor) {
        if (!out)
            out = owned_descriptor(descriptor);
        else
            passed_descriptors::close_elsewhere(descriptor);
    });
}

io_result read_without_descriptors(int socket, std::span<const iovec> ranges) noexcept {
    return read_all(socket, ranges, passed_descriptors::close_elsewhere);
}

void drop_unread(int socket) noexcept {
    constexpr int most_reads = 4096;  // of what a socket may hold
    if (::shutdown(socket, SHUT_RD) != 0)
        return;
    std::array<char, 16 * 1024> octets;
    const iovec range{octets.data(), octets.size()};
    for (int i = 0; i < most_reads; ++i) {
        if (read_without_descriptors(socket, {&range, 1}).octets == 0)
            return;
    }
}

}  // namespace zlink::socket_calls
