// Memory that two processes share, used as a ring: one of them writes octets into it, the other one
// takes them out.
//
// Trust:    neither side believes what the other one writes there. Octets in the ring are copied
//           out before anybody looks at it, and wrong positions do no harm but to the stream. The
//           file can be neither cut nor enlarged. Its pages can be given up by either side, and are
//           then allocated anew: so both sides should be of one user.
// Lines:    who takes octets out writes to each cache line of them, so that the other side gets it
//           back quickly (docs/decisions/0011-write-what-was-read.md).
// Threads:  one on each side at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/error.hpp"
#include "transport/range_cursor.hpp"
#include "transport/socket_options.hpp"

namespace zlink {

class shared_ring {
public:
    shared_ring() noexcept = default;
    ~shared_ring();
    shared_ring(const shared_ring &) = delete;
    shared_ring &operator=(const shared_ring &) = delete;

    explicit operator bool() const noexcept { return shared_ != nullptr; }
    std::size_t capacity() const noexcept { return capacity_; }
    void close() noexcept;
    /// Octets of all rings that this process has mapped.
    static std::size_t mapped_octets() noexcept;

    // ---- the side that writes ----

    /// A new ring; `capacity` is a power of two. `to_give` is for the other side. Fails when this
    /// process has many already (too_many_files), memory is short, or the system does not have such
    /// files.
    error make(std::size_t capacity, owned_descriptor &to_give) noexcept;
    bool is_accepted() const noexcept;
    /// From this octet of the stream on, what is written goes through the ring.
    void begin_at(std::uint64_t octet) noexcept;
    /// 0 also when the other side says nonsense.
    std::size_t room() const noexcept;
    /// Copies up to room() octets, as many as `from` has in one range, for the other side to see.
    /// Returns how many.
    std::size_t put(range_cursor &from, std::size_t octets) noexcept;
    /// Whether the other side has come to wait for octets, as at first it does. It has to be told
    /// once.
    bool take_wish_for_bell() noexcept;
    /// The other side is to act once there is room.
    void ask_for_room() noexcept;

    // ---- the side that takes ----

    /// Maps a ring that the other side made, and tells it so. Fails with invalid when the file is
    /// not one.
    error accept(const owned_descriptor &file) noexcept;
    static constexpr std::uint64_t not_yet = UINT64_MAX;
    /// The answer of begin_at(), or not_yet.
    std::uint64_t beginning() const noexcept;
    /// More than the capacity when the other side says nonsense.
    std::size_t available() const noexcept;
    /// Copies up to available() octets, as many as fit into one range of `to`. Returns how many.
    std::size_t take(range_cursor &to, std::size_t octets) noexcept;
    /// Lets the other side use again what was taken.
    void give_back() noexcept;
    /// Whether the other side asked for room, and half of the ring is free. It has to be told once.
    bool take_wish_for_room() noexcept;
    /// The other side is to ring when there is something. Octets that came before may go without a
    /// bell: look again.
    void arm() noexcept;
    /// Takes that back. True when the other side has seen it, and rings.
    bool disarm() noexcept;

private:
    struct header;
    error map(int file, std::size_t capacity) noexcept;
    std::uint8_t *at(std::uint64_t position) const noexcept { return data_ + (position & (capacity_ - 1)); }
    std::size_t to_end() const noexcept {
        return capacity_ - static_cast<std::size_t>(position_ & (capacity_ - 1));
    }

    header *shared_ = nullptr;
    std::uint8_t *data_ = nullptr;
    std::size_t capacity_ = 0;
    std::uint64_t position_ = 0;  // of the next octet to write, or to take
};

}  // namespace zlink
