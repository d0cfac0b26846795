// A descriptor that an event loop of the application waits on: it is readable while the level of a
// socket is up, and once for each stream that is watched beside it.
//
// Once:     who is told of a stream reads it, or leaves it to others. It is not told of again until
//           it is watched again: where nobody reads it the loop would not sleep any more. So a
//           stream that is closed while a child of fork still has it wakes the loop once.
// Threads:  the socket's. The loop may be in another.
#pragma once

#include <cstddef>
#include <span>

#include "core/error.hpp"
#include "core/owned_descriptor.hpp"

namespace zlink {

class wakeup;

class loop_descriptor {
public:
    /// `level` outlives this. Errors of epoll_create1(2) and epoll_ctl(2).
    error open(const wakeup &level) noexcept;
    int descriptor() const noexcept { return epoll_.get(); }
    /// `events`: POLLIN, POLLOUT of poll(2). False when the system refuses.
    bool watch(int stream, short events) noexcept;
    /// Puts the streams of which the loop has been told since they were watched into `out`, and
    /// returns how many. If there are more, the loop is told of them again. To be called as often
    /// as the loop comes: a stream that was closed may be among them.
    std::size_t take_told(std::span<int> out) noexcept;

private:
    owned_descriptor epoll_;
    std::size_t untold_ = 0;  // of those that were watched; some of them may be closed
};

}  // namespace zlink
