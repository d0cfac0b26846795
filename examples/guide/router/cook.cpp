// Takes orders, one after the other.
#include <iostream>
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t cook(context, zmq::socket_type::dealer);
    cook.set(zmq::sockopt::routing_id, "anna");  // before it connects
    cook.connect("tcp://127.0.0.1:5564");
    zmq::message_t order;
    while (cook.send(zmq::str_buffer("I am free")) && cook.recv(order) && order.size() > 0)
        std::cout << "anna cooks " << order.to_string_view() << "\n";
}
