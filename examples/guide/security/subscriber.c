/* Subscribes over TLS to a publisher whom the authority vouches for. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static void set(void *socket, int option, const char *file) {
    if (zmq_setsockopt(socket, option, file, strlen(file)) != 0)
        fprintf(stderr, "%s: %s\n", file, zmq_strerror(zmq_errno()));
}

int main(void) {
    char news[100];
    void *context = zmq_ctx_new();
    void *subscriber = zmq_socket(context, ZMQ_SUB);
    zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "", 0);
    set(subscriber, ZMQ_TLS_CA, "keys/ca.pem");      /* who vouches for the publisher */
    set(subscriber, ZMQ_TLS_CERT, "keys/alice.pem"); /* who this is */
    set(subscriber, ZMQ_TLS_KEY, "keys/alice.key");
    if (zmq_connect(subscriber, "tls://127.0.0.1:5560") != 0) {
        fprintf(stderr, "subscriber: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    int size = zmq_recv(subscriber, news, sizeof news, 0);
    if (size >= 0 && size <= (int)sizeof news)
        printf("%.*s\n", size, news);
    zmq_close(subscriber);
    return zmq_ctx_term(context);
}
