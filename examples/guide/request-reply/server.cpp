// Says how long words are. Its first request it forgets, as a server does that is started anew.
#include <string>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t server(context, zmq::socket_type::router);
    server.bind("tcp://127.0.0.1:5558");
    zmq::multipart_t message;
    if (!message.recv(server))
        return 1;
    while (message.recv(server)) {
        const zmq::message_t word = message.remove();
        message.addstr(std::to_string(word.size()));  // behind the envelope
        message.send(server);
    }
}
