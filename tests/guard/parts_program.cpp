// One message of so many parts over tcp, sent and received by one thread, for parts_test.py.
//
//   parts_program PARTS
//
// The memory of each part is sent as it is: the queue has two places for each of them.
#include "ends.hpp"

#include <cstdlib>

int main(int count, char **words) {
    using namespace guard;
    require(count == 2, "usage: parts_program PARTS");
    const int parts = std::atoi(words[1]);
    ::setenv("ZMQ_ASIO_OUT_WRITEV_THRESHOLD", "64", 1);
    const context zmq;
    two_ends way(zmq, find_pattern("PUSH_PULL"), "tcp");
    for (int i = 0; i < parts; ++i) {
        zmq_msg_t part;
        require(zmq_msg_init_size(&part, message_size) == 0, "zmq_msg_init_size");
        std::memset(zmq_msg_data(&part), 'g', message_size);
        require(zmq_msg_send(&part, way.sender.handle(), i + 1 < parts ? ZMQ_SNDMORE : 0) == message_size,
                "zmq_msg_send");
    }
    for (int i = 0; i < parts; ++i)
        way.receiver.receive();
}
