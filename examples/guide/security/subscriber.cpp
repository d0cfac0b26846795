// Subscribes over TLS to a publisher whom the authority vouches for.
#include <iostream>
#include <string_view>
#include <zmq.hpp>

static void set(zmq::socket_t &socket, int option, std::string_view file) {
    if (zmq_setsockopt(socket.handle(), option, file.data(), file.size()) != 0)
        throw zmq::error_t();
}

int main() {
    zmq::context_t context;
    zmq::socket_t subscriber(context, zmq::socket_type::sub);
    subscriber.set(zmq::sockopt::subscribe, "");
    set(subscriber, ZMQ_TLS_CA, "keys/ca.pem");       // who vouches for the publisher
    set(subscriber, ZMQ_TLS_CERT, "keys/alice.pem");  // who this is
    set(subscriber, ZMQ_TLS_KEY, "keys/alice.key");
    subscriber.connect("tls://127.0.0.1:5560");
    zmq::message_t news;
    if (subscriber.recv(news))
        std::cout << news.to_string_view() << "\n";
}
