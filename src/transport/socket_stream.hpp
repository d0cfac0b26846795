// The part of a stream over a connected socket that is the same in any family.
#pragma once

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
    void set_events(stream_events *events) noexcept override { events_ = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        return socket_calls::read(ready_.descriptor(), ranges);
    }
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
    explicit socket_stream(std::string peer_address) noexcept : peer_address_(std::move(peer_address)) {}
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
    void on_readable() noexcept override { events_->on_stream_readable(); }
    void on_writable() noexcept override { events_->on_stream_writable(); }

    const std::string peer_address_;
    stream_events *events_ = nullptr;
    readiness ready_;
};

}  // namespace zlink
