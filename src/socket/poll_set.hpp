// Waits for several sockets and descriptors at once, as zmq_poll, the pollers and proxies do.
//
// Flow:     look at all; if nothing is ready go one round with the engine, and look again. No
//           system call when sockets alone are asked and one is ready.
// Threads:  the one that holds all the sockets.
#pragma once

#include <cstddef>
#include <span>

#include "core/error.hpp"
#include "socket/one_wait.hpp"

namespace zlink {

/// Waits until something is ready, at most `timeout_ms` (-1: without end), and fills in what is.
/// `count` gets the number of items with events, 0 when the time is up. terminated, interrupted,
/// no_memory, or errors of poll(2).
error wait_for_any(std::span<watched> items, long timeout_ms, std::size_t &count);

}  // namespace zlink
