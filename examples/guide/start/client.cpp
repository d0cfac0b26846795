// Asks once, and prints the answer.
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t client(context, zmq::socket_type::req);
    client.connect("tcp://127.0.0.1:5555");
    client.send(zmq::str_buffer("world"));
    zmq::message_t answer;
    if (client.recv(answer))  // waits for the answer
        std::cout << answer.to_string_view() << "\n";
}
