// Two threads that share nothing but a context: no locks.
#include <iostream>
#include <thread>
#include <zmq.hpp>

static void square(zmq::context_t &context) {
    zmq::socket_t work(context, zmq::socket_type::rep);  // a socket belongs to one thread
    work.connect("inproc://squares");
    int number;
    while (work.recv(zmq::buffer(&number, sizeof number))->size == sizeof number) {
        number *= number;
        work.send(zmq::buffer(&number, sizeof number));
    }
}

int main() {
    zmq::context_t context;
    zmq::socket_t ask(context, zmq::socket_type::req);
    ask.bind("inproc://squares");  // whoever asks may bind, too
    std::jthread thread(square, std::ref(context));

    int number = 12;
    ask.send(zmq::buffer(&number, sizeof number));
    if (!ask.recv(zmq::buffer(&number, sizeof number)))
        return 1;
    std::cout << number << "\n";
    ask.send(zmq::const_buffer());  // an empty message: the end
}
