// A stream over a connected socket of any family.
#pragma once

#include "transport/readiness.hpp"
#include "transport/socket_options.hpp"
#include "transport/transport.hpp"

namespace zlink {

/// What a stream says about its two ends.
struct stream_names {
    std::string local;
    std::string remote;
    std::string peer_address;
};

/// try_read, try_write and descriptor touch nothing but the descriptor: any thread that keeps the stream from
/// being destroyed meanwhile may call them, one at a time for each direction.
class socket_stream final : public stream, private readiness_events {
public:
    /// Takes the descriptor over in any case.
    static error make(loop &io, owned_descriptor socket, stream_names names,
                      std::unique_ptr<stream> &out) noexcept;

    void set_events(stream_events *events) noexcept override { events_ = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override;
    io_result try_write(std::span<const iovec> ranges) noexcept override;
    bool finish_writing() noexcept override;
    void wait_readable() noexcept override { ready_.wait_readable(); }
    void wait_writable() noexcept override { ready_.wait_writable(); }
    bool lend() noexcept override { return ready_.lend(); }
    error take_back() noexcept override { return ready_.take_back(); }
    int descriptor() const noexcept override { return ready_.descriptor(); }
    std::string peer_address() const override { return names_.peer_address; }
    std::string local_endpoint() const override { return names_.local; }
    std::string remote_endpoint() const override { return names_.remote; }

private:
    explicit socket_stream(stream_names names) noexcept : names_(std::move(names)) {}
    void on_readable() noexcept override { events_->on_stream_readable(); }
    void on_writable() noexcept override { events_->on_stream_writable(); }

    const stream_names names_;
    stream_events *events_ = nullptr;
    readiness ready_;
};

}  // namespace zlink
