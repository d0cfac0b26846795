// Stands between clients and services: clients know one address, and services come and go.
#include <zmq.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t clients(context, zmq::socket_type::router);
    zmq::socket_t services(context, zmq::socket_type::dealer);
    clients.bind("tcp://127.0.0.1:5565");
    services.bind("tcp://127.0.0.1:5566");
    zmq::proxy(clients, services);  // both ways, until the context ends
}
