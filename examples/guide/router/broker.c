/* Stands between clients and services: clients know one address, and services come and go. */
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *clients = zmq_socket(context, ZMQ_ROUTER);
    void *services = zmq_socket(context, ZMQ_DEALER);
    if (zmq_bind(clients, "tcp://127.0.0.1:5565") != 0)
        return 1;
    if (zmq_bind(services, "tcp://127.0.0.1:5566") != 0)
        return 1;
    zmq_proxy(clients, services, NULL); /* both ways, until the context ends */
    return 0;
}
