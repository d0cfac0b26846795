/* Counts what comes, over a file of this machine. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    if (zmq_bind(pull, "ipc://numbers.sock") != 0)
        return 1;
    long octets = 0;
    for (int i = 0; i < 1000; ++i)
        octets += zmq_recv(pull, NULL, 0, 0); /* the size, whatever of it is kept */
    printf("%ld octets\n", octets);
    zmq_close(pull);
    return zmq_ctx_term(context);
}
