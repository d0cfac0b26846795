// What a socket shows of itself over tls, and what monitors hear when it is refused.
#pragma once

#include "sockets.hpp"
#include "tls_peer.hpp"

#include <string>

namespace zlink_test {

// What one side shows: a chain, and the key of its first certificate.
struct credentials {
    std::string chain, key;
};

inline credentials of(const identity &whom, const std::string &more = {}) {
    return {whom.certificate_pem() + more, whom.key_pem()};
}

inline void show(test_socket &socket, const credentials &what) {
    static int number = 0;
    const std::string name = "shown-" + std::to_string(++number);
    ASSERT_EQ(socket.set(ZMQ_TLS_CERT, file_with(name + ".pem", what.chain)), 0);
    ASSERT_EQ(socket.set(ZMQ_TLS_KEY, file_with(name + ".key", what.key)), 0);
}

inline credentials signed_with(const statement &says, const identity &by = good().authority) {
    return of(identity(says, &by));
}

// The three events of a refusal: why in words, the value, and the end.
inline void expect_refusal(monitor &at, int value, const std::string &words, const std::string &endpoint) {
    monitor_event found = at.next(ZMQ_EVENT_REASON);
    EXPECT_EQ(found.words.substr(0, words.size()), words);
    EXPECT_EQ(found.value, value);
    EXPECT_EQ(found.endpoint, endpoint);
    found = at.next();
    EXPECT_EQ(found.event, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
    EXPECT_EQ(found.value, value);
    EXPECT_EQ(at.next().event, ZMQ_EVENT_DISCONNECTED);
}

}  // namespace zlink_test
