// Two sockets that talk both ways: in turn, or at once, each sending and receiving as it can.
#pragma once

#include <zmq.h>

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <thread>

#include "sockets.hpp"

namespace zlink_test {

/// Octets of which no two stretches are alike.
inline std::string body_of(std::size_t size, unsigned number) {
    std::string body(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        body[i] = static_cast<char>(i * 31 + i / 256 + number);
    return body;
}

/// Sends a body of each size there and back.
inline void exchange_bodies(test_socket &client, test_socket &server,
                            std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes) {
        const std::string body = body_of(size, 7);
        ASSERT_EQ(client.send(body), static_cast<int>(size));
        const auto found = server.receive();
        ASSERT_TRUE(found && *found == body) << size;
        ASSERT_EQ(server.send(*found), static_cast<int>(size));
        ASSERT_TRUE(client.receive() == body) << size;
    }
}

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
