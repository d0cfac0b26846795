// Counts what comes, over a file of this machine.
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t pull(context, zmq::socket_type::pull);
    pull.bind("ipc://numbers.sock");
    std::size_t octets = 0;
    zmq::message_t message;
    for (int i = 0; i < 1000 && pull.recv(message); ++i)
        octets += message.size();
    std::cout << octets << " octets\n";
}
