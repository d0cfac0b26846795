/* Answers requests over TLS, each with the name of the certificate that has asked: a REP.
 *
 *     ./server tls://127.0.0.1:5555 [HOW_MANY]
 *
 * It finds server.pem, server.key and ca.pem in the directory that it runs in; README.md has the commands that make them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static void *context, *requests;

static int give_up(const char *what) {
    fprintf(stderr, "server: %s: %s\n", what, zmq_strerror(zmq_errno()));
    if (requests)
        zmq_close(requests);
    zmq_ctx_term(context);
    return 1;
}

static int set_text(int option, const char *text) {
    return zmq_setsockopt(requests, option, text, strlen(text));
}

/* One request, and its answer. */
static int answer(void) {
    zmq_msg_t request;
    const char *who;
    char text[300];

    zmq_msg_init(&request);
    if (zmq_msg_recv(&request, requests, 0) < 0)
        return -1;
    who = zmq_msg_gets(&request, "User-Id"); /* the subject of the client's certificate, which the library has verified */
    snprintf(text, sizeof text, "%.*s, %s", (int)zmq_msg_size(&request), (const char *)zmq_msg_data(&request),
             who ? who : "whoever you are");
    zmq_msg_close(&request);
    puts(text);
    fflush(stdout);
    return zmq_send(requests, text, strlen(text), 0);
}

int main(int count, char **arguments) {
    const char *endpoint = count > 1 ? arguments[1] : "tls://127.0.0.1:5555";
    int left = count > 2 ? atoi(arguments[2]) : -1; /* -1: for ever */
    int on = 1;
    char bound[256];
    size_t size = sizeof bound;

    context = zmq_ctx_new();
    requests = zmq_socket(context, ZMQ_REP);
    if (set_text(ZMQ_TLS_CERT, "server.pem") != 0 || set_text(ZMQ_TLS_KEY, "server.key") != 0)
        return give_up("this libzmq has no TLS");
    /* Only clients come in whose certificates this authority has signed. Without these two: anybody. */
    if (set_text(ZMQ_TLS_CA, "ca.pem") != 0 || zmq_setsockopt(requests, ZMQ_TLS_REQUIRE_CLIENT_CERT, &on, sizeof on) != 0)
        return give_up("the clients' authority");

    /* With ZLINK_LOG=error in the environment it says which file is at fault, where one is. */
    if (zmq_bind(requests, endpoint) != 0)
        return give_up(endpoint);
    if (zmq_getsockopt(requests, ZMQ_LAST_ENDPOINT, bound, &size) != 0)
        return give_up("where it listens");
    printf("listening at %s\n", bound);
    fflush(stdout);

    for (; left != 0; left -= left > 0)
        if (answer() < 0)
            return give_up("a request");
    zmq_close(requests);
    zmq_ctx_term(context); /* once the last answer is on its way */
    return 0;
}
