// Hands out numbers, once both workers are there, and tells the sink how many.
#include <array>
#include <iostream>
#include <string>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t jobs(context, zmq::socket_type::push);
    zmq::socket_t sink(context, zmq::socket_type::push);
    sink.connect("tcp://127.0.0.1:5563");
    jobs.bind("tcp://127.0.0.1:5562");
    if (zlink_wait_ready(jobs.handle(), ZLINK_READY_PEERS, 2, 10000) != 0)
        std::cerr << "not both are there: " << zmq_strerror(zmq_errno()) << "\n";

    const int total = 100;
    for (int number = 1; number <= total; ++number)  // waits where nobody works, or all are full
        jobs.send(zmq::buffer(std::to_string(number)));
    const std::string text = std::to_string(total);
    zmq::send_multipart(sink, std::array{zmq::str_buffer("total"), zmq::buffer(text)});
}  // closes the sockets, and waits until all is handed out
