// Tcp where both ends are on one machine: it has no BBR, and a send buffer that follows the bodies.
// And how much is written at once into a small one.
//
// Threads:  set_up() any; the rest those that write, one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/uio.h>

#include "core/settings.hpp"
#include "core/tuning.hpp"
#include "transport/kernel_copy.hpp"

namespace zlink {

class local_tcp {
public:
    /// SO_SNDBUF, unless ZMQ_SNDBUF says otherwise; the system doubles it. By itself it takes 2.5
    /// MiB there, and small messages have left the caches before they are read.
    static constexpr int send_buffer = 128 * 1024;
    /// The size while bodies of at least `large_body` are on their way: they leave the caches
    /// anyway, and a buffer that is full makes their sender wait. It is small again after so many
    /// writes without one, once what is in it fits.
    static constexpr int large_send_buffer = 1024 * 1024;
    static constexpr std::uint32_t large_body = 128 * 1024;
    static constexpr int writes_until_small = 16;
    /// Instead of `large_body` where each body takes its writer as long as a sealed one: a writer
    /// that waits for room seals nothing meanwhile.
    static constexpr std::uint32_t large_sealed_body = 32 * 1024;

    /// For a connection between machines, and for one that is none of tcp.
    local_tcp() noexcept = default;
    /// Looks where the ends of this connection are.
    static local_tcp set_up(int descriptor, const settings &options) noexcept;

    /// Whether the send buffer follows the bodies: each write wants begin_write() and end_write().
    bool is_sized() const noexcept { return is_sized_; }
    void expect_sealed_bodies() noexcept { least_large_ = large_sealed_body; }
    void begin_write(int descriptor, std::span<const iovec> ranges) noexcept {
        if (ends_with_large(ranges))
            size_for_large_bodies(descriptor, ranges);
    }
    void end_write(int descriptor, std::size_t written) noexcept {
        if (large_left_ > 0)
            large_left_ -= written < large_left_ ? written : large_left_;
        else if (is_for_large_bodies() && written > 0)
            follow_bodies(descriptor);
    }

private:
    static constexpr int longest_deferral = 64 * writes_until_small;

    /// Many small messages in one range are no large body.
    bool ends_with_large(std::span<const iovec> ranges) const noexcept {
        return ranges.size() >= 2 && ranges.back().iov_len >= least_large_ &&
               ranges[ranges.size() - 2].iov_len <= kernel_copy::most_octets_in_front;
    }
    bool is_for_large_bodies() const noexcept {  // the send buffer
        return writes_without_large_ < most_writes_without_large_;
    }
    void size_for_large_bodies(int descriptor, std::span<const iovec> ranges) noexcept;
    /// Octets of no large body were written while the send buffer is for such.
    void follow_bodies(int descriptor) noexcept;

    std::size_t large_left_ = 0;  // octets of what was listed with the last large body
    std::uint32_t least_large_ = large_body;
    int writes_without_large_ = 0;
    int most_writes_without_large_ = 0;  // until the send buffer is small
    bool is_sized_ = false;
};

/// A tcp connection with a ZMQ_SNDBUF below this is given no more than that in one write, half of
/// what the system makes of it. A write that fills such a buffer goes out as one packet, which is
/// less than a full one of the loopback device (64 KiB): the peer's system waits up to 40 ms for
/// another before it acknowledges it, and this side has no room for one.
inline constexpr int send_buffer_of_a_packet = 34 * 1024;
// Less than half of the least that the system makes.
inline constexpr std::size_t least_octets_of_send_buffer = 2048;

/// The sizes of a tcp connection whose socket has set ZMQ_SNDBUF, or -1.
void fit_send_buffer(batching &sizes, int send_buffer) noexcept;

}  // namespace zlink
