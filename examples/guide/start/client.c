/* Asks once, and prints the answer. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *client = zmq_socket(context, ZMQ_REQ);
    zmq_connect(client, "tcp://127.0.0.1:5555");
    zmq_send(client, "world", 5, 0);
    char answer[120];
    int size = zmq_recv(client, answer, sizeof answer, 0); /* waits for the answer */
    if (size >= 0 && size <= (int)sizeof answer)
        printf("%.*s\n", size, answer);
    zmq_close(client);
    return zmq_ctx_term(context);
}
