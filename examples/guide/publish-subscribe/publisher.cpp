// Publishes the weather, once somebody has subscribed.
#include <array>
#include <string_view>
#include <zmq_addon.hpp>

int main() {
    using parts = std::array<zmq::const_buffer, 2>;
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);  // a PUB that hears of subscriptions
    publisher.bind("tcp://127.0.0.1:5556");
    zmq::message_t notice;
    if (!publisher.recv(notice))  // waits for the first subscription: 1 and the topic
        return 1;
    for (const parts &message : {parts{zmq::str_buffer("weather.oslo"), zmq::str_buffer("snow")},
                                 parts{zmq::str_buffer("traffic"), zmq::str_buffer("dense")},
                                 parts{zmq::str_buffer("weather.rome"), zmq::str_buffer("sun")},
                                 parts{zmq::str_buffer("weather"), zmq::str_buffer("end")}})
        zmq::send_multipart(publisher, message);
}
