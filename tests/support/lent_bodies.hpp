// Holds what the tests of the write path share: bodies lent to the library, raw peers that read
// slowly or reset, and the debug counters, which stand at 0 in libraries without them.
#pragma once

#include "raw_peer.hpp"
#include "sockets.hpp"

#include <zmq.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <sys/socket.h>

namespace zlink_test {

// ---- Bodies ----

// Octets that look like nothing else: different for each seed, and without a short period.
inline std::string octets(std::size_t size, unsigned seed = 1) {
    std::string out(size, '\0');
    std::uint32_t state = seed * 2654435761u + 1;
    for (char &octet : out) {
        state = state * 1664525u + 1013904223u;
        octet = static_cast<char>(state >> 24);
    }
    return out;
}

// Memory lent to the library with zmq_msg_init_data. It is spoilt and freed when it is given back,
// so that a library which gives it back too early sends other octets. Declare it before the
// context; all must have come back in the end.
class lent_bodies {
public:
    lent_bodies() = default;
    lent_bodies(const lent_bodies &) = delete;
    lent_bodies &operator=(const lent_bodies &) = delete;
    ~lent_bodies() { EXPECT_EQ(given_back(), lent()); }

    int lent() const { return lent_; }
    int given_back() const { return given_back_; }

    // This is as zmq_send. A body that is not taken comes back at once.
    bool send(const test_socket &to, const std::string &body, int flags = 0) {
        auto *memory = new loan{body, *this};
        zmq_msg_t message;
        zmq_msg_init_data(&message, memory->body.data(), memory->body.size(), &take_back, memory);
        ++lent_;
        const int sent = zmq_msg_send(&message, to.handle(), flags);
        const int error = zmq_errno();
        zmq_msg_close(&message);
        errno = error;
        return sent == static_cast<int>(body.size());
    }

private:
    struct loan {
        std::string body;
        lent_bodies &owner;
    };
    static void take_back(void *, void *hint) {
        auto *memory = static_cast<loan *>(hint);
        std::atomic<int> &count = memory->owner.given_back_;
        std::fill(memory->body.begin(), memory->body.end(), '#');
        delete memory;
        ++count;
    }

    std::atomic<int> lent_{0};
    std::atomic<int> given_back_{0};
};

// Sends a body in memory that the library has allocated.
inline bool send_message(const test_socket &to, const std::string &body, int flags = 0) {
    zmq_msg_t message;
    zmq_msg_init_size(&message, body.size());
    std::copy(body.begin(), body.end(), static_cast<char *>(zmq_msg_data(&message)));
    const bool is_sent = zmq_msg_send(&message, to.handle(), flags) == static_cast<int>(body.size());
    zmq_msg_close(&message);
    return is_sent;
}

// ---- Peers ----

inline constexpr int little_room = 256 * 1024;  // for octets in the kernel, at the sender's side
// At the receiver's: tcp over loopback has segments of 64 KiB, and waits long before it opens a
// window of less.
inline constexpr int little_window = 64 * 1024;
// More than the kernel ever holds of a connection with little room at both sides.
inline constexpr std::size_t beyond_the_kernel = 4u << 20;

// Has the kernel keep little for this peer to read.
inline void keep_little(zlink::test::raw_peer &peer) {
    EXPECT_EQ(::setsockopt(peer.descriptor(), SOL_SOCKET, SO_RCVBUF, &little_window, sizeof little_window),
              0);
}

// Closes so that the other side sees a reset, over tcp at once and over ipc if there was unread
// input.
inline void reset(zlink::test::raw_peer &peer) {
    const ::linger at_once{1, 0};
    (void)::setsockopt(peer.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    peer.close();
}

// Receives so many octets, a few at a time.
inline std::string receive_slowly(zlink::test::raw_peer &peer, std::size_t count) {
    constexpr std::size_t at_once = 1000;
    std::string out;
    while (out.size() < count) {
        const std::string piece = peer.receive(std::min(at_once, count - out.size()));
        if (piece.empty())
            break;
        out += piece;
    }
    return out;
}

// ---- Counters ----

struct write_counters {
#ifdef ZMQ_DEBUG_COUNTERS
    static constexpr bool are_built = true;
    static void reset() { zmq_debug_reset_counters(); }
    static std::size_t zerocopy() { return zmq_debug_get_zerocopy_count(); }
    static std::size_t fallback() { return zmq_debug_get_fallback_count(); }
    static std::size_t copied() { return zmq_debug_get_bytes_copied(); }
    static std::size_t gathered() { return zmq_debug_get_scatter_gather_count(); }
    static std::size_t partial() { return zmq_debug_get_partial_write_count(); }
#else
    static constexpr bool are_built = false;
    static void reset() {}
    static std::size_t zerocopy() { return 0; }
    static std::size_t fallback() { return 0; }
    static std::size_t copied() { return 0; }
    static std::size_t gathered() { return 0; }
    static std::size_t partial() { return 0; }
#endif
};

// A count follows what it counts by a moment. Always true without counters.
inline bool reaches(std::size_t (*counter)(), std::size_t value) {
    return !write_counters::are_built || eventually([&] { return counter() >= value; });
}

}  // namespace zlink_test
