// Asks, and asks again where no answer comes.
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t client(context, zmq::socket_type::req);
    client.set(zmq::sockopt::req_relaxed, true);    // may send again before the answer has come
    client.set(zmq::sockopt::req_correlate, true);  // and then takes no answer to a former request
    client.set(zmq::sockopt::rcvtimeo, 300);        // milliseconds to wait for an answer
    client.set(zmq::sockopt::sndtimeo, 300);        // and for a server to be there
    client.set(zmq::sockopt::linger, 0);            // a request that nobody took ends here
    client.connect("tcp://127.0.0.1:5558");

    zmq::message_t answer;
    for (int attempt = 0; attempt < 100; ++attempt)
        if (client.send(zmq::str_buffer("zlink")) && client.recv(answer)) {
            std::cout << "zlink has " << answer.to_string_view() << " letters\n";
            return 0;
        }
    std::cerr << "the server does not answer\n";
    return 1;
}
