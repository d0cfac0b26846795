/* A message of two parts, from one socket to another. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    const unsigned char reading[] = {0, 21, 255};
    void *context = zmq_ctx_new();
    void *receiver = zmq_socket(context, ZMQ_PAIR);
    void *sender = zmq_socket(context, ZMQ_PAIR);
    zmq_bind(receiver, "inproc://desk"); /* within one process */
    zmq_connect(sender, "inproc://desk");

    zmq_send(sender, "reading.7", 9, ZMQ_SNDMORE); /* copied; more follows */
    zmq_send(sender, reading, sizeof reading, 0);  /* the message is complete, and goes */

    zmq_msg_t part; /* as large as what comes */
    zmq_msg_init(&part);
    do {
        if (zmq_msg_recv(&part, receiver, 0) < 0)
            return 1;
        printf("%zu octets\n", zmq_msg_size(&part));
    } while (zmq_msg_more(&part));
    zmq_msg_close(&part);

    zmq_close(sender);
    zmq_close(receiver);
    return zmq_ctx_term(context);
}
