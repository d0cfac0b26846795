// Two sockets that talk both ways at once, each sending and receiving as it can.
#pragma once

#include <zmq.h>

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "sockets.hpp"

namespace zlink_test {

/// Sends so many numbered messages, and receives as many of the other's, in order.
inline void exchange_numbers(test_socket &socket, int count) {
    int received = 0;
    for (int sent = 0; sent < count || received < count;) {
        if (sent < count && socket.send(std::to_string(sent), ZMQ_DONTWAIT) >= 0) {
            ++sent;
            continue;
        }
        const bool may_wait = sent == count;
        while (received < count) {
            const auto found = socket.receive(may_wait ? 0 : ZMQ_DONTWAIT);
            if (!found)
                break;
            ASSERT_EQ(*found, std::to_string(received));
            ++received;
        }
        if (may_wait && received < count)
            FAIL() << "only " << received << " came: " << zmq_strerror(zmq_errno());
        if (sent < count) {
            zmq_pollitem_t item{socket.handle(), 0, ZMQ_POLLIN | ZMQ_POLLOUT, 0};
            ASSERT_EQ(zmq_poll(&item, 1, patience_ms), 1);
        }
    }
}

inline void exchange_numbers_both_ways(test_socket &first, test_socket &second, int count) {
    std::thread other([&] { exchange_numbers(second, count); });
    exchange_numbers(first, count);
    other.join();
}

}  // namespace zlink_test
