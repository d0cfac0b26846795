/* Asks a server over TLS, and prints its answer: a REQ.
 *
 *     ./client tls://localhost:5555 [GREETING]
 *
 * It finds client.pem, client.key and ca.pem in the directory that it runs in; README.md has the commands that make them.
 */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

static void *context, *server;

static int give_up(const char *what) {
    fprintf(stderr, "client: %s: %s\n", what, zmq_strerror(zmq_errno()));
    zmq_close(server);
    zmq_ctx_term(context);
    return 1;
}

static int set_text(int option, const char *text) {
    return zmq_setsockopt(server, option, text, strlen(text));
}

int main(int count, char **arguments) {
    const char *endpoint = count > 1 ? arguments[1] : "tls://localhost:5555";
    const char *greeting = count > 2 ? arguments[2] : "hello";
    int patience_ms = 10000, linger_ms = 0;
    char text[300];
    int size;

    context = zmq_ctx_new();
    server = zmq_socket(context, ZMQ_REQ);
    /* The server's certificate has to be signed by this authority, and made for the host in the endpoint. */
    if (set_text(ZMQ_TLS_CA, "ca.pem") != 0)
        return give_up("this libzmq has no TLS");
    if (set_text(ZMQ_TLS_CERT, "client.pem") != 0 || set_text(ZMQ_TLS_KEY, "client.key") != 0)
        return give_up("the client's certificate");
    /* A connection that is refused is tried again, silently: with ZLINK_LOG=warn in the environment it says why. */
    zmq_setsockopt(server, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
    zmq_setsockopt(server, ZMQ_LINGER, &linger_ms, sizeof linger_ms);

    if (zmq_connect(server, endpoint) != 0)
        return give_up(endpoint);
    if (zmq_send(server, greeting, strlen(greeting), 0) < 0)
        return give_up("the request");
    size = zmq_recv(server, text, sizeof text, 0);
    if (size < 0)
        return give_up("no answer");
    printf("%.*s\n", size < (int)sizeof text ? size : (int)sizeof text, text);
    zmq_close(server);
    zmq_ctx_term(context);
    return 0;
}
