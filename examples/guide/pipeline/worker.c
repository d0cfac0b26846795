/* Squares numbers, until the sink says that it is over. */
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *jobs = zmq_socket(context, ZMQ_PULL);
    void *sink = zmq_socket(context, ZMQ_PUSH);
    void *over = zmq_socket(context, ZMQ_SUB);
    zmq_connect(jobs, "tcp://127.0.0.1:5562");
    zmq_connect(sink, "tcp://127.0.0.1:5563");
    zmq_setsockopt(over, ZMQ_SUBSCRIBE, "", 0);
    zmq_connect(over, "tcp://127.0.0.1:5570");

    char number[30];
    zmq_pollitem_t items[] = {{jobs, 0, ZMQ_POLLIN, 0}, {over, 0, ZMQ_POLLIN, 0}};
    while (zmq_poll(items, 2, -1) > 0 && !items[1].revents) {
        int size = zmq_recv(jobs, number, sizeof number - 1, 0);
        if (size < 0 || size >= (int)sizeof number)
            return 1;
        number[size] = 0;
        long value = atol(number);
        size = snprintf(number, sizeof number, "%ld", value * value);
        zmq_send(sink, "square", 6, ZMQ_SNDMORE);
        zmq_send(sink, number, size, 0);
    }
    zmq_close(jobs);
    zmq_close(sink);
    zmq_close(over);
    return zmq_ctx_term(context);
}
