// Holds what a monitor hears when a connection is refused: why in words, that the handshake has
// failed, and the end.
#pragma once

#include "sockets.hpp"

namespace zlink_test {

// The words of the next reason; other events before it are skipped.
inline std::string reason_for(monitor &at, int value, const std::string &endpoint) {
    const monitor_event found = at.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(found.value, value) << found.words;
    EXPECT_EQ(found.endpoint, endpoint);
    return found.words;
}

// The two events behind the reason for a handshake that failed.
inline void expect_failure(monitor &at, int kind, int value) {
    const monitor_event found = at.next();
    EXPECT_EQ(found.event, kind);
    EXPECT_EQ(found.value, value);
    EXPECT_EQ(at.next().event, ZMQ_EVENT_DISCONNECTED);
}

}  // namespace zlink_test
