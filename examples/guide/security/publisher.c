/* Publishes over TLS to whom the authority vouches for. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static void set(void *socket, int option, const char *file) {
    if (zmq_setsockopt(socket, option, file, strlen(file)) != 0)
        fprintf(stderr, "%s: %s\n", file, zmq_strerror(zmq_errno()));
}

int main(void) {
    int on = 1;
    void *context = zmq_ctx_new();
    void *publisher = zmq_socket(context, ZMQ_XPUB);
    set(publisher, ZMQ_TLS_CERT, "keys/127.0.0.1.pem"); /* who this is */
    set(publisher, ZMQ_TLS_KEY, "keys/127.0.0.1.key");
    set(publisher, ZMQ_TLS_CA, "keys/ca.pem"); /* who vouches for subscribers */
    zmq_setsockopt(publisher, ZMQ_TLS_REQUIRE_CLIENT_CERT, &on, sizeof on);
    if (zmq_bind(publisher, "tls://127.0.0.1:5560") != 0) {
        fprintf(stderr, "publisher: %s\n", zmq_strerror(zmq_errno()));
        return 1;
    }
    zmq_recv(publisher, NULL, 0, 0); /* somebody has subscribed */
    zmq_send(publisher, "a secret", 8, 0);
    zmq_close(publisher);
    return zmq_ctx_term(context);
}
