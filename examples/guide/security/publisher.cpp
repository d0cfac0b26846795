// Publishes over TLS to whom the authority vouches for.
#include <string_view>
#include <zmq.hpp>

static void set(zmq::socket_t &socket, int option, std::string_view file) {
    if (zmq_setsockopt(socket.handle(), option, file.data(), file.size()) != 0)
        throw zmq::error_t();
}

int main() {
    const int on = 1;
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    set(publisher, ZMQ_TLS_CERT, "keys/127.0.0.1.pem");  // who this is
    set(publisher, ZMQ_TLS_KEY, "keys/127.0.0.1.key");
    set(publisher, ZMQ_TLS_CA, "keys/ca.pem");  // who vouches for subscribers
    zmq_setsockopt(publisher.handle(), ZMQ_TLS_REQUIRE_CLIENT_CERT, &on, sizeof on);
    publisher.bind("tls://127.0.0.1:5560");
    zmq::message_t notice;
    if (publisher.recv(notice))  // somebody has subscribed
        publisher.send(zmq::str_buffer("a secret"));
}
