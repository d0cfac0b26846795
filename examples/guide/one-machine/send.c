/* Sends a thousand messages of 10,000 octets. */
#include <zmq.h>

int main(void) {
    static const char body[10000];
    void *context = zmq_ctx_new();
    void *push = zmq_socket(context, ZMQ_PUSH);
    zmq_connect(push, "ipc://numbers.sock");
    for (int i = 0; i < 1000; ++i)
        zmq_send(push, body, sizeof body, 0);
    zmq_close(push);
    return zmq_ctx_term(context); /* waits until all is sent */
}
