// The send buffer of tcp within one machine; see local_tcp.hpp.
#include "transport/local_tcp.hpp"

#include <algorithm>

#include "transport/socket_options.hpp"

namespace zlink {

local_tcp local_tcp::set_up(int descriptor, const settings &options) noexcept {
    local_tcp made;
    if (!is_within_machine(descriptor))
        return made;
    do_without_bbr(descriptor);
    made.is_sized_ = options.send_buffer < 0;
    if (made.is_sized_)
        set_send_buffer(descriptor, send_buffer);
    return made;
}

void local_tcp::size_for_large_bodies(int descriptor, std::span<const iovec> ranges) noexcept {
    if (!is_for_large_bodies()) {
        set_send_buffer(descriptor, large_send_buffer);
        let_send_buffer_grow(descriptor);
    }
    writes_without_large_ = 0;
    most_writes_without_large_ = writes_until_small;
    large_left_ = 0;
    for (const iovec &range : ranges)
        large_left_ += range.iov_len;
}

/// A buffer that becomes smaller than what is in it takes nothing until the peer has read the rest:
/// a slow one would seem to have stopped. A stream that is always full makes it small in the end.
void local_tcp::follow_bodies(int descriptor) noexcept {
    ++writes_without_large_;
    if (is_for_large_bodies())
        return;
    if (writes_without_large_ < longest_deferral && unconfirmed_octets(descriptor) > send_buffer)
        most_writes_without_large_ += writes_until_small;
    else
        set_send_buffer(descriptor, send_buffer);
}

void fit_send_buffer(batching &sizes, int send_buffer) noexcept {
    if (send_buffer >= 0 && send_buffer < send_buffer_of_a_packet)
        limit_writes(sizes, std::max(static_cast<std::size_t>(send_buffer), least_octets_of_send_buffer));
}

}  // namespace zlink
