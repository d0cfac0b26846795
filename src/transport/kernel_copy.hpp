// Says where the system copies slowly between a program's memory and a socket, and how a frame is
// brought to another place there.
//
// The system copies with one instruction (rep movsb). Processors of AMD make 2.2 GB/s with it
// instead of 20 where the target stands 1 to 15 octets behind the source, by their offsets within a
// page, and two thirds of their speed where it stands 16 to 31 octets behind. When nothing else is
// in the socket, a large frame begins at the start of a page there, and its body 9 octets later. So
// memory that glibc maps by itself, which begins at offset 16, is slow to receive into, and a body
// that begins with a page is slow to send. A body that is not received there directly is copied
// once more, by code that is quick everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/frame.hpp"

namespace zlink::kernel_copy {

inline constexpr std::size_t page = 4096;
inline constexpr std::size_t slow_distance = 15;  // octets, at most

/// The offset within a page of a large frame that stands so that its body is there, behind so many
/// octets.
inline std::size_t offset_of_frame(const void *body, std::size_t in_front = long_header_size) noexcept {
    return (reinterpret_cast<std::uintptr_t>(body) - in_front) % page;
}
/// Whether receiving a large body there is slow.
inline bool is_slow_to_receive(const void *body) noexcept {
    const std::size_t target = offset_of_frame(body);
    return target - 1 < slow_distance;
}
// Into a TCP socket the system copies behind what the thread sent last, in blocks of 32 KiB. A
// large frame begins at the start of a block when all before it was read, and else a few octets
// further: 9 for each frame that the thread has sent since, if their bodies are whole pages. The
// system leaves a block that has less than 32 octets of room. So a write that leaves less than that
// brings the octets behind it to the start of the next block, wherever, within some octets, it
// began.
inline constexpr std::size_t system_block = 32 * 1024;
inline constexpr std::size_t room_left = 31;
/// The octets of a frame that are written alone, in one or two writes of about half of them each,
/// for the rest to stand at the start of a block. They end behind a multiple of 32 octets of the
/// body, so that the receiver, whose memory begins at a multiple of 16, does not copy the rest
/// slowly either; or of 64 with two blocks, so that each of two equal writes leaves less than 32
/// octets. The second of them begins at no such multiple: 32 KiB may be received slowly.
/// `in_front`: octets before the body. From 24 on, a frame that begins 9 octets into a block ends
/// the first write in the next one.
constexpr std::size_t octets_to_write_alone(std::size_t in_front, std::size_t blocks) noexcept {
    constexpr std::size_t quick_multiple = 32;
    const std::size_t least = blocks * (system_block - room_left), multiple = blocks * quick_multiple;
    const std::size_t alone = least + (in_front - least) % multiple;
    return alone <= blocks * system_block ? alone : alone - quick_multiple;
}
/// Octets before a body that are little more than its header.
inline constexpr std::size_t most_octets_in_front = 64;
// Octets of a body, or of a write, that are worth it.
inline constexpr std::size_t placed_from = 128 * 1024;
/// Octets from which on a slow copy costs more than whatever a write in parts may cost.
inline constexpr std::size_t always_placed_from = 2 * 1024 * 1024;

/// The speed at which the system copies a large frame that stands at this offset within a page.
enum class copy_speed : std::uint8_t {
    quick,   // it is quick, or there is no better place
    varies,  // it is quick from the start of a block, and slow some octets further
    slow,    // it is slow from the start of a block
};
inline copy_speed speed_of_sending(std::size_t frame) noexcept {
    if (page - frame - 1 < slow_distance)
        return copy_speed::slow;
    return frame < room_left - slow_distance ? copy_speed::varies : copy_speed::quick;
}

/// So many blocks are written alone before the rest of a frame, and each of them brings the rest
/// some octets further behind (octets_to_write_alone). One of them leaves a frame whose speed
/// varies where the copy is still slower.
constexpr std::size_t blocks_to_place(copy_speed speed) noexcept {
    return speed == copy_speed::varies ? 2 : 1;
}

/// Says whether frames whose speed varies are placed: unless many writes are interrupted. Most
/// often the reader does that where it shares the processor with the writer. It would be woken
/// early then, and the copy is not what takes the time.
class placement {
public:
    bool is_due() const noexcept { return interruptions_ < points_of_many; }
    /// A frame whose speed varies was written.
    void note(bool was_interrupted) noexcept {
        if (was_interrupted)
            interruptions_ = std::min(interruptions_ + points_of_one, most_points);
        else if (interruptions_ > 0)
            --interruptions_;
    }

private:
    // Each interruption is worth some points, and each write without takes one away. Many are made
    // by more than one write in five that is interrupted. Where the processor is shared, it is one
    // in two to four; elsewhere one in fifty, and with 4 MiB one in ten.
    static constexpr int points_of_one = 4, points_of_many = 8, most_points = 16;

    int interruptions_ = 0;
};

/// The octets that `place` stands behind one that receives quickly what `slow` receives slowly:
/// less than a page.
inline std::size_t octets_behind_a_quick_place(const void *place, const void *slow) noexcept {
    constexpr std::size_t away = 64;
    const std::size_t difference =
        reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(slow);
    return (difference - away) % page;
}

}  // namespace zlink::kernel_copy
