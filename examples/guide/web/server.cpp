// Echoes what a browser, or anybody, sends over WebSocket.
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t server(context, zmq::socket_type::router);
    server.bind("ws://127.0.0.1:5569/echo");
    for (zmq::multipart_t message; message.recv(server);)
        message.send(server);
}
