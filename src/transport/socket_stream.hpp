// A stream over a connected socket of any family.
#pragma once

#include <algorithm>

#include "core/kernel_copy.hpp"
#include "core/tuning.hpp"
#include "transport/endpoint.hpp"
#include "transport/readiness.hpp"
#include "transport/socket_calls.hpp"
#include "transport/socket_options.hpp"
#include "transport/transport.hpp"

namespace zlink {

/// try_read and descriptor use only the descriptor, try_write also what belongs to who writes: any
/// thread that keeps the stream from being destroyed meanwhile may call them, one at a time for
/// each direction.
class socket_stream : public stream, private readiness_events {
public:
    /// Takes the descriptor over in any case. Where it is sized, its send buffer follows the bodies
    /// that are written.
    static error make(loop &io, owned_descriptor socket, std::string peer_address, connection_traits traits,
                      std::unique_ptr<stream> &out) noexcept;

    void set_events(stream_events *events) noexcept override { events_ = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        return socket_calls::read(descriptor(), ranges);
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        return traits_.is_sized ? write_sized(ranges) : write(ranges);
    }
    void expect_sealed_bodies() noexcept override { least_large_ = large_sealed_body_within_machine; }
    std::size_t unconfirmed() noexcept override;
    bool finish_writing() noexcept override;
    void wait_readable() noexcept override { ready_.wait_readable(); }
    void wait_writable() noexcept override { ready_.wait_writable(); }
    bool lease_out() noexcept override { return ready_.lease_out(); }
    error take_back() noexcept override { return ready_.take_back(); }
    int descriptor() const noexcept override { return ready_.descriptor(); }
    std::string peer_address() const override { return peer_address_; }
    std::string local_endpoint() const override { return local_endpoint_of(descriptor()); }
    std::string remote_endpoint() const override { return remote_endpoint_of(descriptor()); }

protected:
    explicit socket_stream(std::string peer_address, connection_traits traits = {}) noexcept
        : peer_address_(std::move(peer_address)), traits_(traits) {}
    /// Registers the stream that `construct()` returns. Takes the descriptor over in any case.
    template <class Construct>
    static error open(loop &io, owned_descriptor socket, std::unique_ptr<stream> &out,
                      Construct &&construct) noexcept {
        try {
            std::unique_ptr<socket_stream> s(construct());
            if (error e = readiness::make(io, socket.get(), *s, s->ready_); failed(e))
                return e;
            socket.release();
            out = std::move(s);
            return error::none;
        } catch (const std::bad_alloc &) {
            return error::no_memory;
        }
    }
    void report_readable() noexcept { events_->on_stream_readable(); }

private:
    /// Octets of a range in front of a body that are little more than its header.
    static constexpr std::size_t most_octets_in_header = 64;
    static constexpr int longest_deferral = 64 * writes_until_small_send_buffer;
    /// Many small messages in one range are no large body.
    bool ends_with_large(std::span<const iovec> ranges) const noexcept {
        return ranges.size() >= 2 && ranges.back().iov_len >= least_large_ &&
               ranges[ranges.size() - 2].iov_len <= most_octets_in_header;
    }
    io_result write(std::span<const iovec> ranges) noexcept {
        if (!ranges.empty() && ranges.back().iov_len >= kernel_copy::placed_from)
            return write_large(ranges);
        return socket_calls::write(descriptor(), ranges);
    }
    /// The send buffer follows the bodies that are written.
    io_result write_sized(std::span<const iovec> ranges) noexcept {
        const bool is_large = ends_with_large(ranges);
        if (is_large)
            size_for_large_bodies(ranges);
        const io_result result = write(ranges);
        if (large_left_ > 0)
            large_left_ -= std::min(large_left_, result.octets);
        else if (is_for_large_bodies() && result.octets > 0)
            follow_bodies();
        return result;
    }
    io_result write_large(std::span<const iovec> ranges) noexcept;
    io_result write_in_parts(std::span<const iovec> ranges, std::size_t blocks) noexcept;
    bool is_for_large_bodies() const noexcept {  // the send buffer
        return writes_without_large_ < most_writes_without_large_;
    }
    void size_for_large_bodies(std::span<const iovec> ranges) noexcept;
    /// Octets of no large body were written while the send buffer is for such.
    void follow_bodies() noexcept;
    void on_readable() noexcept override { events_->on_stream_readable(); }
    void on_writable() noexcept override { events_->on_stream_writable(); }

    const std::string peer_address_;
    // Used by the thread that writes: all up to placement_.
    std::size_t least_large_ = large_body_within_machine;
    int writes_without_large_ = 0;
    int most_writes_without_large_ = 0;  // until the send buffer is small
    std::size_t large_left_ = 0;         // of what was listed with the last large body
    kernel_copy::placement placement_;
    const connection_traits traits_;
    stream_events *events_ = nullptr;
    readiness ready_;
};

}  // namespace zlink
