/* Answers whoever asks with a greeting. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *server = zmq_socket(context, ZMQ_REP);
    if (zmq_bind(server, "tcp://127.0.0.1:5555") != 0) {
        fprintf(stderr, "server: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    char name[100], answer[120];
    for (;;) {
        int size = zmq_recv(server, name, sizeof name, 0); /* waits for a request */
        if (size < 0)
            return 1;
        if (size > (int)sizeof name)
            size = sizeof name; /* a longer one was cut */
        size = snprintf(answer, sizeof answer, "Hello, %.*s!", size, name);
        zmq_send(server, answer, size, 0);
    }
}
