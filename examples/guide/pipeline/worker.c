/* Squares numbers, until it is stopped. */
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

int main(void) {
    int little = 1;
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    zmq_setsockopt(pull, ZMQ_RCVHWM, &little, sizeof little); /* who is quick gets more */
    zmq_connect(pull, "tcp://127.0.0.1:5562");
    zmq_connect(push, "tcp://127.0.0.1:5563");

    char number[30];
    for (;;) {
        int size = zmq_recv(pull, number, sizeof number - 1, 0);
        if (size < 0 || size >= (int)sizeof number)
            return 1;
        number[size] = 0;
        long value = atol(number);
        size = snprintf(number, sizeof number, "%ld", value * value);
        zmq_send(push, number, size, 0);
    }
}
