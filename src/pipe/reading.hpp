// The reading half of a connection as the thread sees it that uses the lease.
//
// Threads:  the one that uses the lease.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "memory/block.hpp"

namespace zlink {

class connection_port;
class pipe_end;

/// The reading half of a connection, leased. Reached by who holds a `reading`.
class reading_half {
public:
    /// Whether read_now() is likely to find something without waiting for the descriptor.
    virtual bool expects_more() const noexcept = 0;
    /// Whether a large frame, or the rest of one, is likely to come next.
    virtual bool expects_large() const noexcept = 0;
    /// Reads once without blocking and publishes what came. False when the I/O thread has to go on:
    /// end the lease.
    virtual bool read_now(block_ref &scratch) noexcept = 0;
    /// Whether the last read_now() found octets, in the stream or kept back.
    virtual bool has_read() const noexcept { return false; }

    /// The body of the next message may be read straight into this memory, if it has one frame that
    /// fits, until withdraw_offer().
    virtual void offer(std::span<std::uint8_t> to) noexcept { (void)to; }
    /// Whether part of a body stands there.
    virtual bool fills_offer() const noexcept { return false; }
    enum class offer_end {
        unused,  // or part of a body stood there, and is elsewhere now
        filled,  // the body of a message that was published stands there
        failed,  // as false of read_now()
    };
    virtual offer_end withdraw_offer() noexcept { return offer_end::unused; }

protected:
    ~reading_half() = default;
};

/// The lease of a connection's reading half, in use: what only its holder may do. An empty one
/// found no lease, or its use has ended.
class [[nodiscard]] reading {
public:
    reading() noexcept = default;
    reading(reading &&other) noexcept
        : end_(std::exchange(other.end_, nullptr)), port_(other.port_), half_(other.half_) {}
    reading &operator=(reading &&other) noexcept {
        std::swap(end_, other.end_);
        std::swap(port_, other.port_);
        std::swap(half_, other.half_);
        return *this;
    }
    ~reading() {
        if (end_)
            end(false);
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }
    /// Ends the use. `keep`: the lease is likely to be used again.
    void end(bool keep) noexcept;
    /// The rest that the connection does for this thread: its descriptor, and whether it is full.
    connection_port &port() const noexcept { return *port_; }
    reading_half *operator->() const noexcept { return half_; }

private:
    friend class pipe_end;
    reading(pipe_end &sockets, connection_port &port) noexcept;

    pipe_end *end_ = nullptr;  // the socket's
    connection_port *port_ = nullptr;
    reading_half *half_ = nullptr;
};

}  // namespace zlink
