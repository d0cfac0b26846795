/* Does jobs, and answers whoever asks how many it has done. */
#include <stdio.h>
#include <zmq.h>

int main(void) {
    void *context = zmq_ctx_new();
    void *jobs = zmq_socket(context, ZMQ_PULL);
    void *questions = zmq_socket(context, ZMQ_REP);
    if (zmq_bind(jobs, "tcp://127.0.0.1:5567") != 0)
        return 1;
    if (zmq_bind(questions, "tcp://127.0.0.1:5568") != 0)
        return 1;

    int done = 0;
    zmq_pollitem_t items[] = {{jobs, 0, ZMQ_POLLIN, 0}, {questions, 0, ZMQ_POLLIN, 0}};
    while (zmq_poll(items, 2, -1) >= 0) { /* -1: without end; else milliseconds */
        if (items[0].revents & ZMQ_POLLIN)
            done += zmq_recv(jobs, NULL, 0, ZMQ_DONTWAIT) >= 0;
        if (items[1].revents & ZMQ_POLLIN && zmq_recv(questions, NULL, 0, ZMQ_DONTWAIT) >= 0) {
            char answer[20];
            int size = snprintf(answer, sizeof answer, "%d", done);
            zmq_send(questions, answer, size, 0);
        }
    }
    return 1;
}
