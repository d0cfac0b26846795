// Does jobs, and answers whoever asks how many it has done.
#include <array>
#include <chrono>
#include <string>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t jobs(context, zmq::socket_type::pull);
    zmq::socket_t questions(context, zmq::socket_type::rep);
    jobs.bind("tcp://127.0.0.1:5567");
    questions.bind("tcp://127.0.0.1:5568");

    int done = 0;
    zmq::message_t message;
    std::array<zmq::pollitem_t, 2> items = {
        {{jobs, 0, ZMQ_POLLIN, 0}, {questions, 0, ZMQ_POLLIN, 0}}};
    for (;;) {
        zmq::poll(items, std::chrono::milliseconds(-1));  // -1: without end
        if (items[0].revents && jobs.recv(message, zmq::recv_flags::dontwait))
            ++done;
        if (items[1].revents && questions.recv(message, zmq::recv_flags::dontwait))
            questions.send(zmq::buffer(std::to_string(done)));
    }
}
