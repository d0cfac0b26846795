// The holder of a write turn, and what it alone may do: take from the queue for a connection.
//
// Threads:  the holder's, whichever that is.
#pragma once

#include <cstdint>
#include <utility>

#include "pipe/connection_port.hpp"
#include "pipe/receiver.hpp"

namespace zlink {

/// The write turn of a queue that a connection takes, held: what only its holder may do, on
/// whichever thread that is. An empty one was refused, or given back.
class [[nodiscard]] writing {
public:
    writing() noexcept = default;
    writing(writing &&other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
    writing &operator=(writing &&other) noexcept {
        std::swap(end_, other.end_);
        return *this;
    }
    ~writing() {
        if (end_)
            (void)give();
    }
    explicit operator bool() const noexcept { return end_ != nullptr; }
    /// Gives the turn back. True when somebody was refused meanwhile, and wants out what was
    /// published.
    [[nodiscard]] bool give() noexcept;
    /// Whether the end of the connection waits for it.
    bool is_claimed() const noexcept;

    bool has_input() noexcept;
    frame_queue::gathered gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept;
    std::uint64_t octets_to_message_end(std::uint64_t since_end) noexcept;
    void release(std::size_t octets) noexcept;
    /// Takes the next frame, for one who encodes it anew.
    bool read(frame_view &out) noexcept;
    /// The frames that come next, as far as they stand one behind the other; and takes whole ones
    /// of them, in which so many messages end.
    byte_span peek_run() noexcept;
    /// Whether the gap that was read last is one for the peer that is there.
    bool has_read_own_gap() const noexcept { return end_->in_->queue.has_read_gap_of_tag(); }
    void read_run(std::size_t octets, std::uint64_t messages) noexcept;
    /// Takes the rest of a message of which some octets were released. False where there is none.
    bool drop_cut_message() noexcept;
    /// Whether the body that was read last stands where its writer has it, and its owner is memory
    /// for a copy.
    bool has_read_in_place() const noexcept;
    /// Copies what is left of a body that was written in place. Its writer holds the turn.
    void copy_rest() noexcept;
    /// Exact once all that was gathered is released.
    std::uint64_t messages_taken() const noexcept;
    /// Returns credit once a step of messages has been taken. To be called when nothing was found
    /// to gather, too: the mark may have been lowered since the step was chosen, and the writer
    /// must not wait for a reader with nothing to read.
    void return_due_credit() noexcept;
    /// Does receiver::arm_reader().
    void arm_reader() noexcept;
    /// Takes that back, for one that was not woken, and found messages. To be called before these
    /// are read by who does not write them at once: see pipe_end::is_all_out().
    void note_awake() noexcept;

    /// A small frame has so many octets more on the wire than in the queue. The other end plans its
    /// writes by that.
    void expect_growth(std::size_t octets) noexcept;
    /// Lets the other end write, and borrow, through `io`, until the turn is claimed.
    void serve(connection_port &io) noexcept;
    /// Whom the other end writes through, or null.
    connection_port *server() const noexcept;

private:
    friend class pipe_end;
    friend class sender;
    explicit writing(receiver *connections) noexcept : end_(connections) {}

    receiver *end_ = nullptr;  // the connection's
};

inline bool writing::give() noexcept { return std::exchange(end_, nullptr)->in_->turn.give(); }

inline bool writing::is_claimed() const noexcept { return end_->in_->turn.is_claimed_by_end(); }

inline bool writing::has_input() noexcept { return end_->has_input(); }

inline std::uint64_t writing::messages_taken() const noexcept { return end_->reads_.taken(); }

inline void writing::expect_growth(std::size_t octets) noexcept {
    end_->in_->wire_growth.store(static_cast<std::uint32_t>(octets), std::memory_order_relaxed);
}

inline void writing::return_due_credit() noexcept { end_->return_due_credit(); }

inline void writing::arm_reader() noexcept { end_->arm_reader(); }

inline void writing::note_awake() noexcept {
    if (end_->in_->reader_armed.load(std::memory_order_relaxed))
        end_->in_->reader_armed.store(false, std::memory_order_relaxed);
}

inline bool writing::has_read_in_place() const noexcept { return end_->in_->queue.has_read_in_place(); }

inline void writing::copy_rest() noexcept {
    end_->in_->queue.copy_rest();
    if (connection_port *const io = server())
        io->copy_rest();
}

inline void writing::serve(connection_port &io) noexcept {
    end_->in_->server.store(&io, std::memory_order_relaxed);
}

inline connection_port *writing::server() const noexcept {
    return end_->in_->server.load(std::memory_order_relaxed);
}

}  // namespace zlink
