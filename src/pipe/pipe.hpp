// A pipe: two frame queues, one each way, with high-water marks, wake-ups and an orderly end. Sockets and sessions meet here.
//
// Credit:   each queue has a mark in messages. A writer works from a cached count of what the reader has taken and looks at
//           the shared count only when the cache is used up. Commands (subscriptions) are never counted.
// Waking:   a reader that found nothing arms itself, runs heavy_fence() once for all its pipes, and looks again; a writer
//           that publishes to an armed reader disarms it and calls the other end's `pipe_events`. The same for credit.
// End:      close() says that nothing more will be written or read at this end. What was published before can still be read
//           at the other end, which then finds is_finished().
// Threads:  each end belongs to one thread at a time; only `pipe_events` is called from the other end's thread.
// Owns:     both ends live in one object that the last of the two pointers destroys.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/fence.hpp"
#include "pipe/frame_queue.hpp"

namespace zlink {

class pipe_end;
using pipe_end_ptr = std::shared_ptr<pipe_end>;

/// How the owner of one end hears of the other. Called on the other end's thread; must not block and not call the pipe.
class pipe_events {
  public:
    virtual ~pipe_events() = default;
    virtual void on_readable(pipe_end &end) noexcept = 0; // messages were published to an armed reader
    virtual void on_writable(pipe_end &end) noexcept = 0; // credit came back to an armed writer
    virtual void on_closed(pipe_end &end) noexcept = 0;   // the other end was closed; published messages remain readable
};

/// Contract by which a socket works on its connection from its own thread; implemented by network connections.
class io_turn;

class pipe_end : public std::enable_shared_from_this<pipe_end> {
  public:
    // ---- writing ----

    /// Whether a message may be started now. Looks at the shared count only when the cached credit is used up.
    bool has_credit() noexcept;
    /// Writes one frame. The caller has checked has_credit() before the first frame of a message.
    error write(std::uint8_t flags, byte_span body) noexcept;
    error write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    error append(block *owner, byte_span range, std::uint32_t messages, bool starts_message) noexcept;
    /// Makes what was written visible and wakes an armed reader. Call after the last frame of a message.
    void publish() noexcept;
    void roll_back() noexcept;
    bool has_unpublished() const noexcept;
    /// Says that this end wants on_writable; after arming all pipes, run heavy_fence() and look at has_credit() again.
    void arm_writer() noexcept;
    /// Peer record for messages written from here on (sessions).
    void set_info(peer_info *info) noexcept;
    /// How many messages can still be written: the mark less what is under way; UINT64_MAX without a mark. Refreshes.
    std::uint64_t credit() noexcept;

    // ---- reading ----

    /// Takes the next frame, returning credit to the writer as messages are used up.
    bool read(frame_view &out) noexcept;
    bool has_input() noexcept;
    /// Says that this end wants on_readable; after arming all pipes, run heavy_fence() and look at has_input() again.
    void arm_reader() noexcept;
    frame_queue::gathered gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept;
    void release(std::size_t octets) noexcept;
    void drop_cut_message() noexcept;

    // ---- life ----

    /// No more writing or reading at this end: rolls back what was not published and tells the other end, once.
    void close() noexcept;
    bool is_closed() const noexcept;
    /// The other end was closed.
    bool is_peer_closed() const noexcept;
    /// The other end was closed and everything it published has been read.
    bool is_finished() noexcept;
    /// Changes the mark of the direction this end writes to (inproc: when the peer becomes known; ZMQ_SNDHWM at run time).
    void set_write_hwm(std::uint64_t messages) noexcept;
    void set_events(std::shared_ptr<pipe_events> events) noexcept;

    /// Bookkeeping of the end's owner; the pipe never looks at it.
    struct owner_slot {
        std::uint32_t fair_index = 0;
        std::uint32_t balance_index = 0;
        std::uint32_t fan_index = 0;
        bool is_fan_match = false;
        bool is_attached = false;
        std::string routing_id; // how a ROUTER, REP or STREAM addresses this peer
        std::string endpoint;   // what the application bound or connected to
        std::uint64_t mark = 0;
    } slot;
};

struct pipe_options {
    std::uint64_t first_to_second_hwm = 0; // messages, 0 = no limit
    std::uint64_t second_to_first_hwm = 0;
    bool conflate = false; // keep the newest message only, in both directions
};

struct pipe_ends {
    pipe_end_ptr first;
    pipe_end_ptr second;
};
/// Throws bad_alloc.
pipe_ends make_pipe(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options);

} // namespace zlink
