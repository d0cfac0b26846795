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

#include "core/numbers.hpp"
#include "core/waiter.hpp"
#include "pipe/read_lease.hpp"
#include "pipe/reading.hpp"
#include "pipe/write_turn.hpp"

namespace zlink {

class writing;  // a write turn that is held, see writing.hpp

/// The services of a connection to the thread of a socket.
class connection_port {
public:
    virtual ~connection_port() = default;

    enum class written {
        all,   // nothing is left
        some,  // some is left, or something is to be done that only the I/O thread can do: wake it
        // Some is left, and the stream is full: who has the read lease waits for it, or else the
        // I/O thread.
        full,
        // The stream is full or of no use, or control octets or another thread go first: nobody is
        // to be woken.
        refused,
        held,  // what is left is for the next time
    };
    enum class occasion {
        any,
        stream,  // more comes soon, or else the I/O thread: what goes out should fill pieces
        // The stream was seen to take more, or may do so by now: it is tried though it was full.
        ready,
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

    /// The descriptor to wait for, the same as long as this object lives.
    virtual int descriptor() const noexcept = 0;
    std::uint64_t opening() const noexcept { return opening_; }
    /// The half that the lease is of. For a `reading` alone.
    virtual reading_half &leased_half() noexcept = 0;

private:
    const std::uint64_t opening_ = new_number.openings.next();
};

}  // namespace zlink
