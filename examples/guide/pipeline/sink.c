/* Adds up what two workers find, and sends them home. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

int main(void) {
    int on = 1;
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *over = zmq_socket(context, ZMQ_XPUB);
    zmq_setsockopt(over, ZMQ_XPUB_VERBOSE, &on, sizeof on); /* tells of each subscriber */
    if (zmq_bind(pull, "tcp://127.0.0.1:5563") != 0 || zmq_bind(over, "tcp://127.0.0.1:5570") != 0)
        return 1;

    long found = 0, results = 0, total = -1;
    while (results != total) { /* the total may come before the last results */
        char what[10] = "", value[30] = "";
        if (zmq_recv(pull, what, sizeof what - 1, 0) < 0 ||
            zmq_recv(pull, value, sizeof value - 1, 0) < 0)
            return 1;
        if (strcmp(what, "total") == 0) {
            total = atol(value);
        } else {
            found += atol(value);
            ++results;
        }
    }
    printf("%ld\n", found);
    for (int worker = 0; worker < 2; ++worker)
        zmq_recv(over, NULL, 0, 0); /* a worker that listens */
    zmq_send(over, "go home", 7, 0);
    zmq_close(pull);
    zmq_close(over);
    return zmq_ctx_term(context);
}
