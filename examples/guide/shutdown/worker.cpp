// Answers requests until it is told to end (kill, Ctrl-C); then those that have come already.
#include <array>
#include <chrono>
#include <csignal>
#include <iostream>
#include <sys/signalfd.h>
#include <zmq.hpp>

static bool answer(zmq::socket_t &server) {
    zmq::message_t request;
    return server.recv(request, zmq::recv_flags::dontwait) && server.send(zmq::str_buffer("done"));
}

int main() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);  // before other threads, which inherit it
    const int told = signalfd(-1, &signals, SFD_CLOEXEC);

    int answered = 0;
    {
        zmq::context_t context;
        zmq::socket_t server(context, zmq::socket_type::rep);
        server.bind("tcp://127.0.0.1:5559");
        std::array<zmq::pollitem_t, 2> items = {
            {{server, 0, ZMQ_POLLIN, 0}, {nullptr, told, ZMQ_POLLIN, 0}}};
        while (zmq::poll(items, std::chrono::milliseconds(-1)) > 0 && !items[1].revents)
            answered += answer(server);
        while (answer(server))  // what has come meanwhile
            ++answered;
    }  // waits until the answers are sent
    std::cout << answered << " answered\n";
}
