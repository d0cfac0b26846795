// One direction of a pipe: the queue, and what its writer and its reader share about it; see
// pipe.hpp.
//
// Threads:  each member is the writer's or the reader's, or shared and atomic, as its comment says.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/tuning.hpp"
#include "pipe/connection_port.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

/// The kinds of owner that an end of a pipe has.
enum class end_kind : std::uint8_t {
    socket,
    connection,  // or a session, which lets its connections have it one after the other
};

/// For both directions. The first end is a socket's. The marks are its shares; the second may add
/// its own.
struct pipe_options {
    std::uint64_t first_to_second_hwm = 0;  // messages, 0 = no limit
    std::uint64_t second_to_first_hwm = 0;
    bool conflate = false;  // keep the newest message only, in both directions
    batching sizes = {};
    end_kind second = end_kind::connection;
};

/// One direction of a pipe that keeps the newest message only (ZMQ_CONFLATE).
class conflated_slot;

/// One direction of a pipe: the queue and what its two sides share about it.
struct pipe_direction {
    static constexpr std::uint64_t no_share = UINT64_MAX;

    pipe_direction(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options,
                   std::uint64_t writers_mark, std::uint64_t readers_mark);
    ~pipe_direction();

    /// To be called by whoever has changed its share of the mark.
    void join_shares() noexcept;

    frame_queue queue;
    // Looked at by the writer for each message, written by either side once in a while.
    alignas(64) std::atomic<std::uint64_t> hwm;  // messages, 0 = no limit
    std::atomic<std::uint64_t> returned{0};      // messages the reader has taken and told of
    std::atomic<bool> writer_armed{false};
    std::atomic<bool> reader_armed{false};
    std::atomic<bool> writer_fences{
        true};  // the writer runs full_fence() for every publish from the store on
    std::atomic<bool> writer_closed{false};
    std::atomic<int> linger_ms{0};  // stands once writer_closed does
    // The share of each side in the mark; no_share at an end that has no mark of its own.
    std::atomic<std::uint64_t> writers_share;
    std::atomic<std::uint64_t> readers_share;
    const std::size_t reference_threshold;
    const std::uint32_t senders_batch_size;
    const std::uint32_t written_alone_from;
    const std::uint32_t piece;
    const bool kernel_reads_bodies;
    std::atomic<bool> is_followed{true};      // see pipe_end::is_followed()
    std::atomic<bool> is_read_on{false};      // by an end that is closed
    std::atomic<std::uint8_t> news_taken{0};  // last digits; see pipe_end::say_hello(); the reader's
    // For a queue that a connection reads:
    alignas(64) write_turn turn;  // guards that half of the queue
    read_lease lease;             // of the other direction of the connection
    std::atomic<connection_port *> server{
        nullptr};  // the connection, while it is served; written with the turn held, while nothing is leased
    // Octets of large bodies taken; of all, where a connection takes them. Written by the reader.
    std::atomic<std::uint64_t> large_taken{0};
    std::atomic<std::uint64_t> about_taken{0};  // messages taken, up to a step ago; written by the reader
    // Octets that a small frame has more on the wire than in the queue. Written by the reader.
    std::atomic<std::uint32_t> wire_growth{0};
    std::unique_ptr<conflated_slot> newest;  // instead of messages in the queue, or null
};

}  // namespace zlink
