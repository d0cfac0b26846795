// Answers whoever asks with a greeting.
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t server(context, zmq::socket_type::rep);
    server.bind("tcp://127.0.0.1:5555");
    zmq::message_t name;
    while (server.recv(name))  // waits for a request
        server.send(zmq::buffer("Hello, " + name.to_string() + "!"));
}
