/* Sends to somebody who does not read, until there is no more room. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    int send_mark = 3, receive_mark = 2, fit = 0;
    void *context = zmq_ctx_new();
    void *pull = zmq_socket(context, ZMQ_PULL);
    void *push = zmq_socket(context, ZMQ_PUSH);
    zmq_setsockopt(push, ZMQ_SNDHWM, &send_mark, sizeof send_mark); /* before bind and connect */
    zmq_setsockopt(pull, ZMQ_RCVHWM, &receive_mark, sizeof receive_mark);
    zmq_bind(pull, "inproc://jobs");
    zmq_connect(push, "inproc://jobs");

    while (zmq_send(push, "job", 3, ZMQ_DONTWAIT) == 3) /* without that flag it would wait now */
        ++fit;
    printf("%d messages fit, then: %s\n", fit, zmq_strerror(zmq_errno()));

    zmq_close(push);
    zmq_close(pull);
    return zmq_ctx_term(context);
}
