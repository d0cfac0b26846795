// A message of two parts, from one socket to another.
#include <array>
#include <iostream>
#include <iterator>
#include <vector>
#include <zmq_addon.hpp>

int main() {
    const std::array<unsigned char, 3> reading = {0, 21, 255};
    zmq::context_t context;
    zmq::socket_t receiver(context, zmq::socket_type::pair);
    zmq::socket_t sender(context, zmq::socket_type::pair);
    receiver.bind("inproc://desk");  // within one process
    sender.connect("inproc://desk");

    zmq::send_multipart(sender, std::array{zmq::str_buffer("reading.7"), zmq::buffer(reading)});

    std::vector<zmq::message_t> parts;
    if (!zmq::recv_multipart(receiver, std::back_inserter(parts)))
        return 1;
    for (const zmq::message_t &part : parts)
        std::cout << part.size() << " octets\n";
}
