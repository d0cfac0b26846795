// Hands orders to cooks: whoever says that he is free gets the next.
#include <iostream>
#include <string>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t desk(context, zmq::socket_type::router);
    desk.set(zmq::sockopt::router_mandatory, true);  // a name that nobody has is an error
    desk.bind("tcp://127.0.0.1:5564");
    for (const std::string order : {"soup", "bread", "fish", "" /* go home */}) {
        zmq::multipart_t message;
        if (!message.recv(desk))  // a ROUTER puts the peer's name in front
            return 1;
        message.remove();
        message.addstr(order);
        message.send(desk);  // and takes it off what it sends, and sends it there
    }
    try {
        desk.send(zmq::str_buffer("nobody"), zmq::send_flags::sndmore);
    } catch (const zmq::error_t &error) {
        std::cout << "nobody: " << error.what() << "\n";
    }
}
