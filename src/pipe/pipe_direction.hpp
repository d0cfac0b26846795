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
    std::uint64_t first_to_second_octets = 0;  // 0 = no limit
    std::uint64_t second_to_first_octets = 0;
};

/// One direction of a pipe that keeps the newest message only (ZMQ_CONFLATE).
class conflated_slot;

/// The shares of both sides in a mark in octets, 0 = none, and what each knows for it.
struct octet_marks {
    std::atomic<std::uint64_t> writers{0};
    std::atomic<std::uint64_t> readers{0};
    std::uint64_t seen_taken = 0;  // by the reader, when the writer asked last; the writer's
    // taken, when credit was returned for a step of octets; the reader's
    std::uint64_t told = 0;

    std::uint64_t sum() const noexcept { return writers.load() + readers.load(); }
};

/// One direction of a pipe: the queue and what its two sides share about it. Its flags are facts of
/// their own: each has another writer, or another time.
struct pipe_direction {
    static constexpr std::uint32_t no_share = UINT32_MAX;

    /// A share is what the end has set as its mark, unless it has none of its own. Throws
    /// bad_alloc.
    enum class shares { of_writer, of_reader };
    pipe_direction(const std::shared_ptr<chunk_pool> &pool, const pipe_options &options, shares whose);
    ~pipe_direction();

    /// To be called by whoever has changed its share of a mark.
    void join_shares() noexcept;
    /// Marks that nothing comes near are taken for such.
    static std::uint32_t share_of(std::uint64_t messages) noexcept;
    static std::uint64_t octets_share_of(std::uint64_t octets) noexcept;
    /// The place of the marks in octets, made by the first who has one. Throws bad_alloc.
    octet_marks &need_octets();
    /// The marks that both shares make; 0 = no limit. The mark in octets is what both have set.
    std::uint64_t message_mark() const noexcept;
    std::uint64_t octet_mark() const noexcept {
        const octet_marks *const those = octets.load(std::memory_order_acquire);
        return those ? those->sum() : 0;
    }

    frame_queue queue;
    // Looked at by the writer for each message, written by either side once in a while. The mark in
    // messages, 0 = no limit. Where there is one in octets it is 1, so that each message that finds
    // another one under way comes by the slow way, where both marks decide.
    alignas(64) std::atomic<std::uint64_t> hwm;
    std::atomic<std::uint64_t> returned{0};  // messages the reader has taken and told of
    std::atomic<bool> writer_armed{false};
    std::atomic<bool> reader_armed{false};
    std::atomic<bool> writer_fences{
        true};  // the writer runs full_fence() for every publish from the store on
    std::atomic<bool> writer_closed{false};
    std::atomic<int> linger_ms{0};  // stands once writer_closed does
    // The share of each side in the mark; no_share at an end that has no mark of its own.
    std::atomic<std::uint32_t> writers_share;
    std::atomic<std::uint32_t> readers_share;
    std::atomic<octet_marks *> octets{nullptr};  // owned; stays once it is there
    const std::size_t reference_threshold;
    const std::uint32_t senders_batch_size;
    const std::uint32_t written_alone_from;
    const std::uint32_t piece;
    std::atomic<bool> is_followed{true};  // see pipe_end::is_followed()
    std::atomic<bool> is_read_on{false};  // by an end that is closed
    // last digits; see pipe_end::say_hello(); the reader's
    std::atomic<std::uint8_t> news_taken{0};
    // For a queue that a connection reads:
    alignas(64) write_turn turn;  // guards that half of the queue
    read_lease lease;             // of the other direction of the connection
    std::atomic<connection_port *> server{
        // the connection, while it is served; written with the turn held, while nothing is leased
        nullptr};
    // Octets of large bodies taken; of all, where a connection takes them. Written by the reader.
    std::atomic<std::uint64_t> large_taken{0};
    // messages taken, up to a step ago; written by the reader
    std::atomic<std::uint64_t> about_taken{0};
    // Octets that a small frame has more on the wire than in the queue. Written by the reader.
    std::atomic<std::uint32_t> wire_growth{0};
    // Whether a peer is there that writes, behind its handshake, and whether the reader wants to
    // hear of it; see pipe_end::has_peer().
    std::atomic<bool> has_peer{false};
    std::atomic<bool> is_peer_awaited{false};
    // by the writer, which wants to be told of each message
    std::atomic<bool> is_drain_awaited{false};
    // Bits: the reader wants to know how many messages were lost; see pipe_end::note_slow().
    static constexpr std::uint8_t gaps_wanted = 1;
    static constexpr std::uint8_t is_slow = 2;
    static constexpr std::uint8_t is_taken_over = 4;  // before the writer closes
    std::atomic<std::uint8_t> notes{0};
    bool note(std::uint8_t bit) noexcept { return notes.fetch_or(bit, std::memory_order_relaxed) & bit; }
    void forget(std::uint8_t bit) noexcept {
        notes.fetch_and(static_cast<std::uint8_t>(~bit), std::memory_order_relaxed);
    }
    bool has_noted(std::uint8_t bit) const noexcept { return notes.load(std::memory_order_relaxed) & bit; }
    std::unique_ptr<conflated_slot> newest;  // instead of messages in the queue, or null
};

}  // namespace zlink
