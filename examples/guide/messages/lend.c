/* A large body that is sent from where it is, without a copy. */
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

static void done(void *body, void *hint) {
    (void)hint;
    free(body); /* nobody needs it any more; any thread may call this */
}

int main(void) {
    size_t size = 10 * 1000 * 1000;
    void *context = zmq_ctx_new();
    void *receiver = zmq_socket(context, ZMQ_PULL);
    void *sender = zmq_socket(context, ZMQ_PUSH);
    zmq_bind(receiver, "ipc://picture.sock");
    zmq_connect(sender, "ipc://picture.sock");

    char *picture = calloc(1, size);
    zmq_msg_t message;
    zmq_msg_init_data(&message, picture, size, done, NULL); /* picture is the message's now */
    if (zmq_msg_send(&message, sender, 0) < 0)
        zmq_msg_close(&message); /* after a failure the message is still ours */

    zmq_msg_init(&message);
    zmq_msg_recv(&message, receiver, 0);
    printf("%zu octets\n", zmq_msg_size(&message));
    zmq_msg_close(&message);
    zmq_close(sender);
    zmq_close(receiver);
    return zmq_ctx_term(context);
}
