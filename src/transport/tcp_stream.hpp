// A stream over a tcp connection: it places large frames where the system copies them quickly, and
// its send buffer follows the bodies.
#pragma once

#include "transport/kernel_copy.hpp"
#include "transport/local_tcp.hpp"
#include "transport/socket_stream.hpp"

namespace zlink {

/// Threads: as socket_stream.
class tcp_stream final : public socket_stream {
public:
    /// Takes the descriptor over in any case.
    static error make(loop &io, owned_descriptor socket, std::string peer_address, local_tcp local,
                      std::unique_ptr<stream> &out) noexcept;

    io_result try_write(std::span<const iovec> ranges) noexcept override {
        return local_.is_sized() ? write_sized(ranges) : write(ranges);
    }
    std::optional<std::size_t> way_round(const void *body, const void *next,
                                         const void *by) const noexcept override {
        if (!kernel_copy::is_slow_to_receive(body))
            return {};
        return kernel_copy::octets_behind_a_quick_place(by, next);
    }
    void expect_sealed_bodies() noexcept override { local_.expect_sealed_bodies(); }

private:
    tcp_stream(std::string peer_address, local_tcp local) noexcept
        : socket_stream(std::move(peer_address)), local_(local) {}

    io_result write(std::span<const iovec> ranges) noexcept {
        if (!ranges.empty() && ranges.back().iov_len >= kernel_copy::placed_from)
            return write_large(ranges);
        return socket_calls::write(descriptor(), ranges);
    }
    io_result write_sized(std::span<const iovec> ranges) noexcept {
        local_.begin_write(descriptor(), ranges);
        const io_result result = write(ranges);
        local_.end_write(descriptor(), result.octets);
        return result;
    }
    io_result write_large(std::span<const iovec> ranges) noexcept;
    io_result write_in_parts(std::span<const iovec> ranges, std::size_t blocks) noexcept;

    // Used by the thread that writes:
    local_tcp local_;
    kernel_copy::placement placement_;
};

}  // namespace zlink
