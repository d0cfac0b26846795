// Squares numbers, until the sink says that it is over.
#include <array>
#include <chrono>
#include <string>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t jobs(context, zmq::socket_type::pull);
    zmq::socket_t sink(context, zmq::socket_type::push);
    zmq::socket_t over(context, zmq::socket_type::sub);
    jobs.connect("tcp://127.0.0.1:5562");
    sink.connect("tcp://127.0.0.1:5563");
    over.set(zmq::sockopt::subscribe, "");
    over.connect("tcp://127.0.0.1:5570");

    std::array<zmq::pollitem_t, 2> items = {{{jobs, 0, ZMQ_POLLIN, 0}, {over, 0, ZMQ_POLLIN, 0}}};
    while (zmq::poll(items, std::chrono::milliseconds(-1)) > 0 && !items[1].revents) {
        zmq::message_t job;
        if (!jobs.recv(job))
            return 1;
        const long number = std::stol(job.to_string());
        const std::string square = std::to_string(number * number);
        zmq::send_multipart(sink, std::array{zmq::str_buffer("square"), zmq::buffer(square)});
    }
}
