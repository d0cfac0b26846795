/* Asks, and asks again where no answer comes. */
#include <stdio.h>
#include <zmq.h>

static void set(void *socket, int option, int value) {
    zmq_setsockopt(socket, option, &value, sizeof value);
}

int main(void) {
    void *context = zmq_ctx_new();
    void *client = zmq_socket(context, ZMQ_REQ);
    set(client, ZMQ_REQ_RELAXED, 1);   /* may send again before the answer has come */
    set(client, ZMQ_REQ_CORRELATE, 1); /* and then takes no answer to a former request */
    set(client, ZMQ_RCVTIMEO, 300);    /* milliseconds to wait for an answer */
    set(client, ZMQ_SNDTIMEO, 300);    /* and for a server to be there */
    set(client, ZMQ_LINGER, 0);        /* a request that nobody took ends here */
    if (zmq_connect(client, "tcp://127.0.0.1:5558") != 0)
        return 1;

    char answer[20];
    int size = -1;
    for (int attempt = 0; attempt < 100 && size < 0; ++attempt) {
        if (zmq_send(client, "zlink", 5, 0) == 5)
            size = zmq_recv(client, answer, sizeof answer, 0);
        if (size < 0 && zmq_errno() != EAGAIN)
            break; /* not a matter of time */
    }
    if (size < 0 || size > (int)sizeof answer)
        fprintf(stderr, "client: %s\n", zmq_strerror(zmq_errno()));
    else
        printf("zlink has %.*s letters\n", size, answer);
    zmq_close(client);
    zmq_ctx_term(context);
    return size < 0;
}
