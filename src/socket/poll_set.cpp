// Waits for several sockets and descriptors at once; see poll_set.hpp.
#include "socket/poll_set.hpp"

#include "core/platform.hpp"
#include "socket/socket.hpp"

namespace zlink {

namespace {

constexpr long longest_ms = 1L << 40;  // what goes beyond waits without end

/// Fills in what is ready now.
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
    return error::none;
}

}  // namespace

error wait_for_any(std::span<watched> items, long timeout_ms, std::size_t &count) {
    platform::end_if_cancelled();
    one_wait wait(items);
    time_point deadline = time_point::max();
    bool is_last_look = timeout_ms == 0;
    bool has_deadline = timeout_ms <= 0 || timeout_ms > longest_ms;
    for (;;) {
        if (const error e = look(wait, items, is_last_look, count); failed(e))
            return e;
        if (count > 0 || is_last_look)
            return error::none;
        if (!has_deadline) {
            deadline = wait.clock().now() + std::chrono::milliseconds(timeout_ms);
            has_deadline = true;
        }
        const error e = wait.round(deadline);
        if (e == error::timed_out)
            is_last_look = true;
        else if (failed(e))
            return e;
    }
}

}  // namespace zlink
