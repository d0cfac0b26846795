/* Takes orders, one after the other. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    char order[100];
    int size;
    void *context = zmq_ctx_new();
    void *cook = zmq_socket(context, ZMQ_DEALER);
    zmq_setsockopt(cook, ZMQ_ROUTING_ID, "anna", 4); /* before it connects */
    zmq_connect(cook, "tcp://127.0.0.1:5564");
    do {
        zmq_send(cook, "I am free", 9, 0);
        size = zmq_recv(cook, order, sizeof order, 0);
        if (size > 0 && size <= (int)sizeof order)
            printf("anna cooks %.*s\n", size, order);
    } while (size > 0);
    zmq_close(cook);
    return zmq_ctx_term(context);
}
