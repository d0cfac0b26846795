// A large frame on its way in: read straight into memory of its own, which grows with what has
// arrived.
//
// Memory:   a peer that announces much and sends little gets nothing: before 16 KiB have arrived
//           there is memory only while something is being read. Then it is all of the frame, where
//           such memory is held idle anyway or the frame is a small one, or else eight times what
//           has arrived.
// Layout:   the body, or what stands behind so many of its octets, is aligned as malloc() does,
//           from 2 MiB on to a cache line.
// Threads:  those of the connection's reading half.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/bytes.hpp"
#include "core/frame.hpp"
#include "memory/block.hpp"
#include "memory/chunk.hpp"

namespace zlink {

class large_frame {
public:
    /// From here on a frame is one.
    static constexpr std::size_t own_memory_from = 32 * 1024;

    large_frame() noexcept = default;
    ~large_frame() { forget(); }
    large_frame(const large_frame &) = delete;
    large_frame &operator=(const large_frame &) = delete;

    bool is_under_way() const noexcept { return total_ > 0; }
    const frame_header &header() const noexcept { return header_; }
    /// Octets, with the header.
    std::size_t arrived() const noexcept { return have_; }
    /// Starts with what has arrived, whose header is whole. So many octets of the body, 64 at most,
    /// stand in front of what is to be aligned. False when memory is short: none is under way.
    bool begin(chunk_pool &pool, byte_span arrived, const frame_header &header,
               std::size_t unaligned = 0) noexcept;

    /// Does begin() with `place` for the body alone, to be read there until move_to_own_memory(),
    /// take_body() or forget().
    void begin_elsewhere(std::uint8_t *place, byte_span arrived, const frame_header &header) noexcept;
    bool is_elsewhere() const noexcept { return elsewhere_ != nullptr; }
    const std::uint8_t *elsewhere() const noexcept { return elsewhere_; }
    /// Goes on in memory of its own. False when that is short: forget().
    bool move_to_own_memory(chunk_pool &pool) noexcept;
    /// Takes a frame that is whole there: it is no more under way.
    byte_span take_body() noexcept;

    struct place {
        std::uint8_t *begin = nullptr;
        std::size_t octets = 0;
    };
    /// The place of the next octets, as many as there is memory for; no place when memory is short.
    place place_for_next(chunk_pool &pool) noexcept;
    std::size_t missing() const noexcept { return total_ - have_; }
    /// So many octets were read there; none when there were none.
    void note_read(std::size_t octets) noexcept;
    bool is_whole() const noexcept { return have_ == total_; }
    /// The place of all of it, in wire form, and the owner of that memory. It is no more under way.
    byte_span take(block_ref &owner) noexcept;
    void forget() noexcept;

private:
    static constexpr std::size_t least_octets_to_hold = 16 * 1024;  // octets arrived
    static constexpr std::size_t small_frame = 256 * 1024;
    static constexpr std::size_t growth = 8;
    static constexpr std::size_t alignment = 64;

    std::uint8_t *frame() const noexcept { return memory_->data() + lead_; }
    void start(std::size_t arrived, const frame_header &header, std::size_t unaligned) noexcept;
    bool obtain(chunk_pool &pool) noexcept;
    bool grow(chunk_pool &pool) noexcept;
    void put_aside() noexcept;

    frame_header header_;
    chunk *memory_ = nullptr;  // or what has arrived stands aside
    std::size_t lead_ = 0;     // octets before the frame
    std::size_t have_ = 0;     // of the frame
    std::size_t total_ = 0;
    chunk *aside_ = nullptr;
    std::uint8_t *elsewhere_ = nullptr;  // where the body stands
};

}  // namespace zlink
