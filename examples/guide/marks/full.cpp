// Sends to somebody who does not read, until there is no more room.
#include <cerrno>
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t pull(context, zmq::socket_type::pull);
    zmq::socket_t push(context, zmq::socket_type::push);
    push.set(zmq::sockopt::sndhwm, 3);  // before bind and connect
    pull.set(zmq::sockopt::rcvhwm, 2);
    pull.bind("inproc://jobs");
    push.connect("inproc://jobs");

    int fit = 0;
    while (push.send(zmq::str_buffer("job"), zmq::send_flags::dontwait))  // else it would wait now
        ++fit;
    std::cout << fit << " messages fit, then: " << zmq_strerror(EAGAIN) << "\n";
}
