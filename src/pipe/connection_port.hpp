// The I/O of a connection on the thread of a socket: the contract between the two ends of a pipe.
//
// Writing:  whoever holds the write turn may take what was published and write it: the I/O thread,
//           or the thread that published it. The turn is a try-lock. A thread that is refused may
//           leave a request, and the holder sees it when it gives back. Nobody waits for it: the
//           end of a connection claims it, and the holder leaves it to that end.
// Reading:  a read lease is for longer. A caller that is about to sleep asks for it; the I/O thread
//           then takes its hands off the stream until the lease ends. The caller waits for the
//           descriptor itself and reads. It uses the lease from looking at the descriptor until it
//           leaves; in between the I/O thread may call the lease back at any time, and does so when
//           it is not used for a while.
// Threads:  a turn from any thread, what it guards by its holder; each side of a lease on one
//           thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/block.hpp"
#include "core/waiter.hpp"
#include "pipe/read_lease.hpp"
#include "pipe/write_turn.hpp"

namespace zlink {

class writing;  // a write turn that is held, see pipe.hpp

/// The services of a connection to the thread of a socket.
class connection_port {
public:
    virtual ~connection_port() = default;

    enum class written {
        all,   // nothing is left
        some,  // some is left, or something is to be done that only the I/O thread can do: wake it
        full,  // some is left, and the stream is full: who has the read lease waits for it, or else the I/O thread
        refused,  // the stream is full or of no use, or control octets go first: nobody is to be woken
        held,     // less than a piece is left for the next time
    };
    enum class occasion {
        any,
        stream,  // more comes soon, or else the I/O thread: what goes out should fill pieces
        ready,   // the stream was seen to take more, or may do so by now: it is tried though it was full
    };
    /// Writes what is published, without blocking.
    virtual written write_now(writing &turn, occasion when) noexcept = 0;
    /// Copies what is left of a body that was taken from where its sender has it. Called by the
    /// holder of the turn.
    virtual void copy_rest() noexcept {}
    /// Whether the stream is full, and has to be waited for before it takes more. Any thread.
    virtual bool is_full() const noexcept = 0;
    /// Whether the last write was refused: the stream was full, or another thread was at it. Any
    /// thread.
    virtual bool is_held_up() const noexcept { return is_full(); }
    /// Whether a full stream takes more once there is input, and room is of no use before. Any
    /// thread.
    virtual bool awaits_input() const noexcept { return false; }

    // With the read lease in use:

    /// The descriptor to wait for, the same as long as this object lives.
    virtual int descriptor() const noexcept = 0;
    std::uint64_t opening() const noexcept { return opening_; }
    /// Whether read_now() is likely to find something without waiting for the descriptor.
    virtual bool expects_more() const noexcept = 0;
    /// Whether a large frame, or the rest of one, is likely to come next.
    virtual bool expects_large() const noexcept = 0;
    /// Whether the sender of the large frames runs on this thread's processor, as far as is known:
    /// a look keeps it from sending.
    virtual bool shares_processor() const noexcept { return false; }
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

private:
    const std::uint64_t opening_ = new_opening();
};

}  // namespace zlink
