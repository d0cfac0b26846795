/* Asks another thread, with zlink. */
#include <pthread.h>
#include <stdio.h>
#include <zmq.h>

static void *serve(void *server) { /* the socket is that thread's, once it has begun */
    char body[100];
    int size = zmq_recv(server, body, sizeof body, 0); /* the size is returned */
    if (size >= 0 && size <= (int)sizeof body)
        zmq_send(server, body, size, 0);
    zmq_close(server);
    return NULL;
}

int main(void) {
    pthread_t thread;
    char body[100];
    int patience = 5000;
    void *context = zmq_ctx_new(); /* new: owns the threads of both sockets */
    void *server = zmq_socket(context, ZMQ_REP);
    void *client = zmq_socket(context, ZMQ_REQ);
    zmq_setsockopt(client, ZMQ_RCVTIMEO, &patience, sizeof patience);
    if (zmq_bind(server, "tcp://127.0.0.1:5574") != 0)
        return 1;
    pthread_create(&thread, NULL, serve, server);
    zmq_connect(client, "tcp://127.0.0.1:5574"); /* does not wait */

    zmq_send(client, "anybody there?", 14, 0);
    int size = zmq_recv(client, body, sizeof body, 0);
    if (size >= 0 && size <= (int)sizeof body)
        printf("%.*s\n", size, body);
    pthread_join(thread, NULL);
    zmq_close(client);
    return zmq_ctx_term(context);
}
