// Sends a thousand messages of 10,000 octets.
#include <string>
#include <zmq.hpp>

int main() {
    const std::string body(10'000, 0);
    zmq::context_t context;
    zmq::socket_t push(context, zmq::socket_type::push);
    push.connect("ipc://numbers.sock");
    for (int i = 0; i < 1000; ++i)
        push.send(zmq::buffer(body));
}  // waits until all is sent
