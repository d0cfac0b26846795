// Holds what a socket shows of itself over tls, and what monitors hear when it is refused.
#pragma once

#include "refusals.hpp"
#include "tls_peer.hpp"

#include <string>

namespace zlink_test {

// Holds what one side shows: a chain, and the key of its first certificate.
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

// A refusal whose reason begins with these words.
inline void expect_refusal(monitor &at, int value, const std::string &words, const std::string &endpoint) {
    EXPECT_EQ(reason_for(at, value, endpoint).substr(0, words.size()), words);
    expect_failure(at, ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL, value);
}

}  // namespace zlink_test
