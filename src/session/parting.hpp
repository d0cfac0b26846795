// The wait for the peer behind the last words of a connection: reads its stream, which is written
// to no more, and throws away what comes.
//
// Why:      a system that closes a stream with unread input, or to which input still comes, resets
//           it, and that may take from the peer what it has not read yet (RFC 9112 §9.6, RFC 6455
//           §7.1.1).
// Ends:     with the stream, when `longest_parting` is over whatever comes, behind `most_octets`,
//           or where the loop needs its descriptor.
// Costs:    the stream and a timer; nothing is kept of what comes. A call reads a few blocks.
// Threads:  the loop's.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "reactor/loop.hpp"
#include "transport/transport.hpp"

namespace zlink {

/// The time that one that ends waits for a peer that does not go on reading, or does not take its
/// leave.
constexpr std::chrono::milliseconds longest_parting{500};

class parting_events {
public:
    virtual ~parting_events() = default;
    /// It is over. Destroy it later, not from inside this call.
    virtual void on_parted() noexcept = 0;
};

class parting final : private stream_events, private sheddable {
public:
    /// The octets that a peer may have under way before it can know: more than a tcp socket holds
    /// as systems set it up.
    static constexpr std::size_t most_octets = 8 * 1024 * 1024;

    /// `bytes`: nothing is written to it any more, and the peer has been told so. Null where there
    /// is nothing to wait for: the stream has ended already, or memory is short. `io` and `events`
    /// outlive it.
    static std::unique_ptr<parting> begin(loop &io, std::unique_ptr<stream> bytes,
                                          parting_events &events) noexcept;

    /// It is over by then, and at once where that has passed; then without an event.
    void end_by(time_point when) noexcept;
    bool is_over() const noexcept { return is_over_; }

private:
    parting(loop &io, std::unique_ptr<stream> bytes, parting_events &events) noexcept;

    void on_stream_readable() noexcept override;
    void on_stream_writable() noexcept override {}
    void shed() noexcept override;
    void on_time() noexcept;
    bool read() noexcept;
    void end() noexcept;

    loop &io_;
    std::unique_ptr<stream> bytes_;  // until it is shed
    parting_events &events_;
    const std::unique_ptr<timer> timer_;
    time_point ends_at_;
    std::size_t octets_ = 0;  // that have come
    bool is_over_ = false;
};

}  // namespace zlink
