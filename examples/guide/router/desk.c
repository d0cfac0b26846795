/* Hands orders to cooks: whoever says that he is free gets the next. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

int main(void) {
    const char *orders[] = {"soup", "bread", "fish", "" /* go home */};
    int on = 1;
    void *context = zmq_ctx_new();
    void *desk = zmq_socket(context, ZMQ_ROUTER);
    zmq_setsockopt(desk, ZMQ_ROUTER_MANDATORY, &on, sizeof on);
    if (zmq_bind(desk, "tcp://127.0.0.1:5564") != 0)
        return 1;
    for (int i = 0; i < 4; ++i) {
        char cook[255]; /* no name is longer */
        int size = zmq_recv(desk, cook, sizeof cook, 0);
        if (size < 0 || zmq_recv(desk, NULL, 0, 0) < 0) /* the name, and what he says */
            return 1;
        zmq_send(desk, cook, size, ZMQ_SNDMORE);
        zmq_send(desk, orders[i], strlen(orders[i]), 0);
    }
    if (zmq_send(desk, "nobody", 6, ZMQ_SNDMORE) < 0)
        printf("nobody: %s\n", zmq_strerror(zmq_errno()));
    zmq_close(desk);
    return zmq_ctx_term(context);
}
