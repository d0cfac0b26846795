/* Hands out numbers, once both workers are there, and tells the sink how many. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *jobs = zmq_socket(context, ZMQ_PUSH);
    void *sink = zmq_socket(context, ZMQ_PUSH);
    zmq_connect(sink, "tcp://127.0.0.1:5563");
    if (zmq_bind(jobs, "tcp://127.0.0.1:5562") != 0)
        return 1;
    if (zlink_wait_ready(jobs, ZLINK_READY_PEERS, 2, 10000) != 0)
        fprintf(stderr, "not both are there: %s\n", zmq_strerror(zmq_errno()));

    char text[30];
    int total = 100;
    for (int number = 1; number <= total; ++number) /* waits where nobody works, or all are full */
        zmq_send(jobs, text, snprintf(text, sizeof text, "%d", number), 0);
    zmq_send(sink, "total", 5, ZMQ_SNDMORE);
    zmq_send(sink, text, snprintf(text, sizeof text, "%d", total), 0);
    zmq_close(jobs);
    zmq_close(sink);
    return zmq_ctx_term(context); /* waits until all is handed out */
}
