// The ways of a body into the library and out of it: copied by zmq_send and zmq_recv, or moved as a
// message.
//
// Moved:    by zmq_msg_send, in memory of the library that the sender fills, or in memory of its
//           own that it lends: written once, and lent again when it has come back. Received by
//           zmq_msg_recv, and looked at where it is.
// It lies if: copies are compared with moves. A moved body is checked in three words, like a copied
// one, but nobody reads the others.
#pragma once

#include "common.hpp"

#include <cstddef>
#include <cstdint>
#include <zmq.h>

namespace bench {

enum class body_way { copied, allocated, lent };

class body_sender {
public:
    body_sender(body_way way, std::size_t size) : way_(way), message_(size) {}

    void send(void *socket, std::uint64_t sequence);

private:
    const body_way way_;
    outgoing message_;
};

class body_receiver {
public:
    body_receiver(body_way way, std::size_t size);
    body_receiver(const body_receiver &) = delete;
    body_receiver &operator=(const body_receiver &) = delete;
    ~body_receiver();

    /// Fails unless it is that message.
    void receive(void *socket, std::uint64_t sequence);

private:
    const body_way way_;
    const std::size_t size_;
    incoming copy_;
    moving_sample sample_;
    zmq_msg_t message_;
};

}  // namespace bench
