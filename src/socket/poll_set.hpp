// Waits for several sockets and descriptors at once: the engine of zmq_poll, of the pollers and of proxies.
//
// Flow:     look at all; if nothing is ready arm the sockets, look again, and only then sleep on their levels and the
//           descriptors together. No slices, and no system call when sockets alone are asked and one is ready.
// Threads:  the one that holds all the sockets.
#pragma once

#include <cstddef>
#include <span>

#include "core/error.hpp"

namespace zlink {

class socket;

/// One thing to wait for. Events are the ZMQ_POLL ones.
struct watched {
    socket *which = nullptr;  // null: a descriptor of the system
    int descriptor = -1;
    short wanted = 0;
    short ready = 0;
};

/// Waits until something is ready, at most `timeout_ms` (-1: without end), and fills in what is. `count` gets the number of
/// items with events, 0 when the time is up. terminated, interrupted, no_memory, or errors of poll(2).
error wait_for_any(std::span<watched> items, long timeout_ms, std::size_t &count);

}  // namespace zlink
