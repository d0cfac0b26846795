// Holds what zmq_send and zmq_recv do with a socket, for tests that have no handle: small messages
// at once where that goes.
#pragma once

#include <algorithm>

#include "socket/socket.hpp"

namespace zlink::test {

/// Never leaves a message half done: what does not go at once goes the whole way.
inline error send_as_in_c(socket &self, byte_span body, int flags) {
    pipe_end::at_once result = self.send_at_once(body, flags);
    if (result == pipe_end::at_once::refused)
        result = self.send_addressed_at_once(body, flags);
    if (result == pipe_end::at_once::sent_needs_wake)
        self.wake_receiver();
    return result == pipe_end::at_once::refused ? self.send(body, flags) : error::none;
}

/// The part of zmq_recv that needs no waiting, pattern or memory.
inline bool receive_at_once(socket &self, short_frame &out, std::size_t capacity) {
    return self.receive_at_once(out, capacity) || self.receive_addressed_at_once(out, capacity);
}

inline error receive_as_in_c(socket &self, void *buffer, std::size_t capacity, std::size_t &size, int flags) {
    short_frame frame;
    if (!receive_at_once(self, frame, capacity))
        return self.receive(buffer, capacity, size, flags);
    size = frame.size;
    std::copy_n(frame.data, frame.size, static_cast<std::uint8_t *>(buffer));
    return error::none;
}

}  // namespace zlink::test
