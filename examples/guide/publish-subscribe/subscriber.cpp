// Prints the weather.
#include <iostream>
#include <iterator>
#include <vector>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t subscriber(context, zmq::socket_type::sub);
    subscriber.set(zmq::sockopt::subscribe, "weather");  // all topics that begin so
    subscriber.connect("tcp://127.0.0.1:5556");
    for (;;) {
        std::vector<zmq::message_t> parts;
        if (!zmq::recv_multipart(subscriber, std::back_inserter(parts)) || parts.size() != 2)
            continue;
        if (parts[1].to_string_view() == "end")
            break;
        std::cout << parts[0].to_string_view() << " " << parts[1].to_string_view() << "\n";
    }
}
