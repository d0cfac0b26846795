// Waits for several sockets and descriptors at once; see poll_set.hpp.
#include "socket/poll_set.hpp"

#include "core/platform.hpp"
#include "socket/socket.hpp"

namespace zlink {

namespace {

constexpr long longest_ms = 1L << 40;  // what goes beyond waits without end

/// Among the items may be the own descriptor (ZMQ_FD) of one of the sockets. It is ready, too, when
/// the wait has taken in what had raised it. Returns how many that makes ready.
std::size_t note_own_descriptors(std::span<watched> items) noexcept {
    std::size_t count = 0;
    for (const watched &each : items) {
        const int own = each.which ? each.which->take_raised_descriptor() : -1;
        for (watched &item : own >= 0 ? items : std::span<watched>()) {
            if (item.which || item.descriptor != own || !(item.wanted & ZMQ_POLLIN))
                continue;
            count += item.ready == 0;
            item.ready |= ZMQ_POLLIN;
        }
    }
    return count;
}

/// The wait has no news of what calls before it have taken in.
void forget_own_descriptors(std::span<const watched> items) noexcept {
    for (const watched &each : items) {
        if (each.which)
            (void)each.which->take_raised_descriptor();
    }
}

/// Fills in what is ready now; `again` when nothing is.
error look(one_wait &wait, std::span<watched> items, bool is_last, std::size_t &count) noexcept {
    count = 0;
    if (wait.has_descriptors()) {
        if (const error e = wait.look_at_descriptors(); failed(e))
            return e;
    }
    for (watched &item : items) {
        if (item.which) {
            if (const error e = item.which->events(item.wanted, item.ready, is_last); failed(e))
                return e;
        }
        count += item.ready != 0;
    }
    if (wait.has_descriptors())
        count += note_own_descriptors(items);
    return count > 0 ? error::none : error::again;
}

}  // namespace

error wait_for_any(std::span<watched> items, long timeout_ms, std::size_t &count) {
    platform::end_if_cancelled();
    one_wait wait(items);
    if (wait.has_descriptors())
        forget_own_descriptors(items);
    const auto attempt = [&](bool is_last) { return look(wait, items, is_last, count); };
    error e = attempt(timeout_ms == 0);
    if (e == error::again && timeout_ms != 0) {
        const bool is_endless = timeout_ms < 0 || timeout_ms > longest_ms;
        e = wait.go_on(is_endless ? time_point::max()
                                  : wait.clock().now() + std::chrono::milliseconds(timeout_ms),
                       attempt);
    }
    return e == error::again ? error::none : e;
}

}  // namespace zlink
