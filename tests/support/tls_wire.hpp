// Holds what a stream of TLS runs over in a unit test: the test says what there is to read, what
// room there is, and when a wait is over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "transport/transport.hpp"

namespace zlink::test {

/// Holds what the inner stream and its test share.
struct tls_wire {
    std::string in, out;  // to be read by the stream, written by it
    bool has_ended = false;
    std::size_t room = SIZE_MAX;
    error write_failure = error::none;  // where there is no room
    int waits_writable = 0, waits_readable = 0;
    bool is_room_awaited = false, is_input_awaited = false;
    bool is_leased = false;
    bool is_finished = false;
    std::function<void()> while_reading, while_writing;
    stream_events *events = nullptr;

    /// Does as the inner stream, once there is room.
    void make_room(std::size_t octets = SIZE_MAX) {
        room = octets;
        is_room_awaited = false;
        events->on_stream_writable();
    }
    /// Does as the inner stream, which has something for who waits.
    void tell_of_input() {
        if (std::exchange(is_input_awaited, false))
            events->on_stream_readable();
    }
    void tell_of_room() {
        if (std::exchange(is_room_awaited, false))
            events->on_stream_writable();
    }
};

class tls_wire_end final : public stream {
public:
    explicit tls_wire_end(tls_wire &shared) : wire_(shared) {}

    void set_events(stream_events *events) noexcept override { wire_.events = events; }
    io_result try_read(std::span<const iovec> ranges) noexcept override {
        if (auto then = std::exchange(wire_.while_reading, nullptr))
            then();
        const std::size_t octets = std::min(ranges[0].iov_len, wire_.in.size());
        if (octets == 0)
            return {0, wire_.has_ended ? error::connection_reset : error::again};
        std::memcpy(ranges[0].iov_base, wire_.in.data(), octets);
        wire_.in.erase(0, octets);
        return {octets, error::none};
    }
    io_result try_write(std::span<const iovec> ranges) noexcept override {
        if (auto then = std::exchange(wire_.while_writing, nullptr))
            then();
        const std::size_t octets = std::min(ranges[0].iov_len, wire_.room);
        if (octets == 0)
            return {0, failed(wire_.write_failure) ? wire_.write_failure : error::again};
        wire_.out.append(static_cast<const char *>(ranges[0].iov_base), octets);
        wire_.room -= octets;
        return {octets, error::none};
    }
    std::size_t unconfirmed() noexcept override { return 0; }
    bool finish_writing() noexcept override { return wire_.is_finished = true; }
    void wait_readable() noexcept override {
        EXPECT_FALSE(wire_.is_leased);
        ++wire_.waits_readable;
        wire_.is_input_awaited = true;
    }
    void wait_writable() noexcept override {
        EXPECT_FALSE(wire_.is_leased);
        ++wire_.waits_writable;
        wire_.is_room_awaited = true;
    }
    bool lease_out() noexcept override {
        wire_.is_input_awaited = wire_.is_room_awaited = false;
        return wire_.is_leased = true;
    }
    error take_back() noexcept override {
        wire_.is_leased = false;
        return error::none;
    }
    int descriptor() const noexcept override { return -1; }
    std::string peer_address() const override { return {}; }
    std::string local_endpoint() const override { return {}; }
    std::string remote_endpoint() const override { return {}; }

private:
    tls_wire &wire_;
};

}  // namespace zlink::test
