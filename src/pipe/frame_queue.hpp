// The one queue: frames in wire form, in reference-counted chunks, from one producer to one consumer.
//
// Flow:     the producer writes frames and publishes when the last frame of a message is in; the consumer never sees part
//           of a message. It either parses frames (a socket) or gathers ranges for a gathered write (a connection).
// Layout:   a list of segments, each a range of octets in one block. Whole frames only, with one exception: a body kept in
//           memory of its own is the whole of the segment behind the one that ends with its header.
// Publish:  one store to `committed` of the segment that was open. Segments written since are linked behind it before, and
//           the store also says that the segment is final, so the consumer follows the link only when it is complete.
// Threads:  producer functions on one thread, consumer functions on another. Nothing else is safe.
// Owns:     one reference to the block of each segment.
#pragma once

#include <atomic>
#include <memory>
#include <sys/uio.h>

#include "core/block.hpp"
#include "core/bytes.hpp"
#include "core/chunk.hpp"
#include "core/error.hpp"
#include "core/frame.hpp"
#include "core/peer_info.hpp"

namespace zlink {

/// One frame as the consumer sees it; valid until the consumer's next call on the same queue.
struct frame_view {
    const std::uint8_t *data = nullptr;
    std::size_t size = 0;
    std::uint8_t flags = 0;       // frame_flag::more and frame_flag::command
    block *owner = nullptr;       // keeps `data` alive when retained; null when the memory is constant or borrowed
    std::size_t owner_size = 0;   // octets that a reference to owner would pin
    peer_info *info = nullptr;    // the peer it came from, when known

    byte_span body() const noexcept { return {data, size}; }
    bool has_more() const noexcept { return flags & frame_flag::more; }
    bool is_command() const noexcept { return flags & frame_flag::command; }
};

class frame_queue {
  public:
    explicit frame_queue(std::shared_ptr<chunk_pool> pool) noexcept;
    ~frame_queue();
    frame_queue(const frame_queue &) = delete;
    frame_queue &operator=(const frame_queue &) = delete;

    // ---- producer ----

    /// Writes one frame, copying the body. `flags`: more, command. no_memory leaves the message as it was before the call.
    error write(std::uint8_t flags, byte_span body) noexcept;
    /// Writes one frame whose body stays in `owner`'s memory (a null owner: memory that lives for ever).
    error write_external(std::uint8_t flags, block_ref owner, byte_span body) noexcept;
    /// Appends whole frames that already are in wire form inside `owner`: `messages` of them end in this range.
    /// The range merges with the one before when it continues it. `starts_message` is false inside a message.
    error append(block *owner, byte_span range, std::uint32_t messages, bool starts_message) noexcept;
    /// Makes everything written visible to the consumer.
    void publish() noexcept;
    /// Forgets everything written since the last publish.
    void roll_back() noexcept;
    bool has_unpublished() const noexcept;
    /// The peer that frames written from now on come from; adds a reference.
    void set_info(peer_info *info) noexcept;

    // ---- consumer ----

    /// Takes the next frame. False when nothing more is published.
    bool read(frame_view &out) noexcept;
    /// Whether a frame is published and not taken.
    bool has_input() noexcept;

    struct gathered {
        std::size_t ranges = 0;
        std::size_t octets = 0;
    };
    /// Lists what is published, from the first octet not released, in up to `limit` ranges and about `max_octets`.
    gathered gather(iovec *ranges, std::size_t limit, std::size_t max_octets) noexcept;
    /// Gives back the first `octets` of what is published, after they were written out. Returns the messages known to have
    /// ended since the last call: exact once everything gathered is released, never too many.
    std::uint32_t release(std::size_t octets) noexcept;
    /// After a broken write: drops the rest of a message of which some octets were released. Returns the messages that
    /// ended and were not reported by release(), the cut one included.
    std::uint32_t drop_cut_message() noexcept;

  private:
    struct segment;
    // ... private part follows in the implementation
};

} // namespace zlink
